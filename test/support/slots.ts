import type { Db } from '../../src/platform/db/contract.js';

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

/** The most runs of a flow that had a model call under way at one moment; one that was cut is under way until it is made again. */
export async function mostCalling(db: Db, flow: string): Promise<number> {
  const marks = await db.query<{ run: string; type: string }>(
    `SELECT e.run_id AS run, e.type FROM run_event e JOIN run r ON r.id = e.run_id
      WHERE r.flow = $1 AND (starts_with(e.type, 'model.') OR starts_with(e.type, 'run.'))
      ORDER BY e.at, (e.type = 'model.started')`,
    [flow],
  );
  const calling = new Set<string>();
  let most = 0;
  for (const { run, type } of marks) {
    if (type === 'model.started') calling.add(run);
    else if (type !== 'run.started') calling.delete(run);
    most = Math.max(most, calling.size);
  }
  return most;
}
