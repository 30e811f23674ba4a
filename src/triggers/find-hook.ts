import { type LivePlan, livePlan } from '../content/index.js';
import type { Deps } from '../deps.js';
import type { WorkspaceRow } from '../people/index.js';
import { Refusal } from '../shared/refusal.js';
import { checkToken } from '../shared/tokens.js';
import { hookFields } from './hook-address.js';

export interface HookPath {
  readonly tenant: string;
  readonly workspace: string;
  readonly flow: string;
  readonly token: string;
}

export interface FoundHook {
  readonly workspace: WorkspaceRow;
  readonly flow: string;
  readonly live: LivePlan;
}

interface Row extends WorkspaceRow {
  readonly generation: number;
}

const NO_WORKSPACE: Row = { id: '', tenantId: '', name: '', liveSeq: 0, generation: 0 };

/**
 * The flow of this token. A wrong token and an unknown flow, workspace or account get the same refusal, and the token
 * is compared in each case, so that the response time reveals nothing.
 */
export async function findHook(deps: Deps, path: HookPath): Promise<FoundHook> {
  const refused = new Refusal('unauthenticated', 'the token is not valid here');
  // Postgres rejects some names, such as those with NUL.
  const isInvalid = [path.tenant, path.workspace, path.flow].some((name) => !/^[\w.-]{1,255}$/.test(name));
  const row = (isInvalid ? null : await readRow(deps, path)) ?? NO_WORKSPACE;
  const fields = hookFields({ workspace: row, flow: path.flow }, row.generation);
  const good = checkToken(deps.keys.signing, 'hook', fields, path.token);
  if (!good || row === NO_WORKSPACE) throw refused;
  const live = await livePlan(deps.db, row, `flows/${path.flow}`);
  if (!live) throw refused;
  const { generation: _, ...workspace } = row;
  return { workspace, flow: path.flow, live };
}

async function readRow(deps: Deps, { tenant, workspace, flow }: HookPath): Promise<Row | null> {
  const [row] = await deps.db.query<Row>({
    name: 'find-hook',
    text: `SELECT w.id, w.tenant_id AS "tenantId", w.name, w.live_seq AS "liveSeq", coalesce(t.generation, 0) AS generation
      FROM workspace w LEFT JOIN hook_token t ON t.workspace_id = w.id AND t.flow = $3
      WHERE w.tenant_id = $1 AND w.name = $2`,
    values: [tenant, workspace, flow],
  });
  return row ?? null;
}
