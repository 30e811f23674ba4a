import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { storableJson } from '../../shared/storable-json.js';

interface Tried {
  readonly workspace: string;
  readonly via: string;
  readonly dryRun?: boolean | undefined;
}

interface RefusedDeploy extends Tried {
  readonly reason: string;
  /** Notify the pusher too, whose client has disconnected. */
  readonly toPusher?: boolean;
}

/** Enqueues notifications of `deploy.refused`, for refused files only; not for a dry run or a preview. */
export async function noteRefused(deps: Deps, caller: Caller, tried: Tried, error: unknown): Promise<void> {
  if (tried.dryRun || !(error instanceof Refusal) || error.kind !== 'refused') return;
  const noted = insertRefusal(deps.db, caller, { ...tried, reason: error.message });
  // The caller gets the refusal whether or not others can be notified.
  await noted.catch((failure: unknown) => deps.log.error({ err: failure }, 'failed to record a refused deploy'));
}

/** Writes the notice of a refused deploy; nothing for a preview. */
export async function insertRefusal(
  sql: Sql,
  { tenant, actor, person }: Caller,
  { workspace, via, reason, toPusher = false }: RefusedDeploy,
): Promise<void> {
  const data = { via, by: actor.label, reason, ...(toPusher && person && { pusher: person.id }) };
  await sql.query(
    `INSERT INTO notice (tenant_id, workspace_id, event, data) SELECT tenant_id, id, 'deploy.refused', $3 FROM workspace
      WHERE tenant_id = $1 AND name = $2 AND preview_of IS NULL`,
    [tenant, workspace, storableJson(data)],
  );
}
