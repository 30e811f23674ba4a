import type { Deps } from '../../deps.js';
import { tellEvents } from './tell-events.js';

const BY_KIND = { approval: 'timeout', event: 'timeout', timer: 'elapsed' } as const;

/** A park's time came: if it is due and nobody decided, the clock does. A decision that came first stands. */
export async function tickPark(deps: Deps, park: string): Promise<void> {
  const run = await deps.db.transaction(async (sql) => {
    const [row] = await sql.query<{ run: string; kind: keyof typeof BY_KIND }>(
      'SELECT run_id AS run, kind FROM park WHERE id = $1 AND decided_at IS NULL AND due_at <= now()',
      [park],
    );
    if (!row) return null;
    const [run] = await sql.query('SELECT 1 FROM run WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [row.run]);
    if (!run) return null;
    const decided = await sql.query<{ step: string; item: number; round: number }>(
      `UPDATE park SET decided_at = now(), decision = $2, decided_by = '{"kind":"clock","id":"clock","label":"the clock"}'
        WHERE id = $1 AND decided_at IS NULL RETURNING step, item, round`,
      [park, BY_KIND[row.kind]],
    );
    const [at] = decided;
    if (!at) return null;
    const gate = row.kind === 'approval' ? 1 : 0;
    const type =
      row.kind === 'approval' ? 'approval.timeout' : row.kind === 'event' ? 'event.timeout' : 'timer.elapsed';
    await sql.query(
      `WITH r AS (UPDATE run SET last_seq = last_seq + 1, gates_open = gates_open - $2,
          status = CASE WHEN gates_open - $2 > 0 THEN 'awaiting-approval' ELSE 'running' END WHERE id = $1 RETURNING last_seq)
        INSERT INTO run_event (run_id, seq, type, data) SELECT $1, last_seq, $3, $4 FROM r`,
      [row.run, gate, type, JSON.stringify({ ...at, park })],
    );
    return row.run;
  });
  if (run !== null) tellEvents(deps, run);
}
