import type { Sql } from '../../db/contract.js';
import { isRecord, type Json } from '../../shared/json.js';

/** Where a run's news go: an address, a URL, and of what they tell; null where nobody said. */
export interface Targets {
  readonly email: string | null;
  readonly url: string | null;
  readonly events: readonly string[] | null;
}

/**
 * What `notify` says, the nearest first: the flow's, the workspace's, the account's. The nearest that names a target
 * names all of them; the events are the nearest ones up to there.
 */
export function targetsIn(levels: readonly Json[]): Targets {
  const said = levels.map((level) => (isRecord(level) ? level : {}));
  const at = said.findIndex(({ email, url }) => typeof email === 'string' || typeof url === 'string');
  if (at < 0) return { email: null, url: null, events: null };
  const { email, url } = said[at] ?? {};
  const events = said.slice(0, at + 1).find((level) => Array.isArray(level.events))?.events;
  return {
    email: typeof email === 'string' ? email : null,
    url: typeof url === 'string' ? url : null,
    events: Array.isArray(events) ? events.map(String) : null,
  };
}

/** As it stands now: a run's flow is pinned, its workspace's and its account's defaults are not. */
export async function readTargets(sql: Sql, runId: string): Promise<Targets> {
  const [row] = await sql.query<{ flow: Json; workspace: Json; account: Json }>({
    name: 'read-targets',
    text: `SELECT p.body->'notify' AS flow, v.index->'notify' AS workspace, t.notify AS account
      FROM run r JOIN workspace w ON w.id = r.workspace_id JOIN tenant t ON t.id = r.tenant_id
        JOIN plan p ON p.workspace_id = r.workspace_id AND p.id = r.plan_id
        LEFT JOIN revision v ON v.workspace_id = w.id AND v.seq = w.live_seq
      WHERE r.id = $1`,
    values: [runId],
  });
  return targetsIn(row ? [row.flow, row.workspace, row.account] : []);
}
