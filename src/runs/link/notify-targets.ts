import type { Sql } from '../../platform/db/contract.js';
import { isRecord, type Json } from '../../shared/json.js';

/** The notification targets of a run; `events` is null when no level names any. */
export interface Targets {
  readonly emails: readonly string[];
  readonly url: string | null;
  readonly events: readonly string[] | null;
}

/**
 * Merges the `notify` settings of flow, workspace and account, nearest first. The nearest level with a target supplies
 * all targets; the events come from the nearest level up to there.
 */
export function targetsIn(levels: readonly Json[]): Targets {
  const byLevel = levels.map((level) => {
    const { email, url, events } = isRecord(level) ? (level as Record<string, Json>) : {};
    return { emails: textsIn(email), url: textsIn(url)[0] ?? null, events: textsIn(events) };
  });
  const at = byLevel.findIndex(({ emails, url }) => emails.length > 0 || url !== null);
  const target = byLevel[at];
  if (!target) return { emails: [], url: null, events: null };
  const events = byLevel.slice(0, at + 1).find((level) => level.events.length > 0)?.events ?? null;
  return { emails: target.emails, url: target.url, events };
}

/** One text, or a list of them. */
function textsIn(value: Json | undefined): readonly string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((entry): entry is string => typeof entry === 'string' && entry !== '');
}

/** The current targets: a run's flow is pinned, the defaults of its workspace and account are not. */
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
