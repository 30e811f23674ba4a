import type { Deps } from '../deps.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { storableJson } from '../shared/storable-json.js';

interface Tried {
  readonly workspace: string;
  readonly via: string;
  readonly dryRun?: boolean | undefined;
}

/** Notes a deploy whose files were refused, for whoever is told of `deploy.refused`; a dry run and a preview tell nobody. */
export async function noteRefused(deps: Deps, caller: Caller, tried: Tried, error: unknown): Promise<void> {
  if (tried.dryRun || !(error instanceof Refusal) || error.kind !== 'refused') return;
  const noted = deps.db.query(
    `INSERT INTO notice (tenant_id, workspace_id, event, data) SELECT tenant_id, id, 'deploy.refused', $3 FROM workspace
      WHERE tenant_id = $1 AND name = $2 AND preview_of IS NULL`,
    [caller.tenant, tried.workspace, storableJson({ via: tried.via, by: caller.actor.label, reason: error.message })],
  );
  // Who deploys hears why it was refused, whatever becomes of the word to others.
  await noted.catch((failure: unknown) => deps.log.error({ err: failure }, 'a refused deploy could not be noted'));
}
