import type { Db } from '../../src/db/contract.js';

/** The most runs of a flow that were at work at one moment, by the times of their first and last events. */
export async function mostAtWork(db: Db, flow: string, workspace?: string): Promise<number> {
  const marks = await db.query<{ at: Date; type: string }>(
    `SELECT e.at, e.type FROM run_event e JOIN run r ON r.id = e.run_id JOIN workspace w ON w.id = r.workspace_id
      WHERE r.flow = $1 AND ($2::text IS NULL OR w.name = $2) AND e.type IN ('run.started', 'run.completed', 'run.failed')
      ORDER BY e.at, (e.type = 'run.started')`,
    [flow, workspace ?? null],
  );
  let open = 0;
  let most = 0;
  for (const { type } of marks) {
    open += type === 'run.started' ? 1 : -1;
    most = Math.max(most, open);
  }
  return most;
}
