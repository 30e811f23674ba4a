import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { isRecord, type Json } from '../../shared/json.js';
import { appendEvent } from './append-event.js';
import { notifyStreams } from './notify-streams.js';

/** What each kind of park becomes when it falls due, and the event of it. */
const DUE = {
  approval: { decision: 'timeout', event: 'approval.timeout', gates: -1 },
  event: { decision: 'timeout', event: 'event.timeout', gates: 0 },
  timer: { decision: 'elapsed', event: 'timer.elapsed', gates: 0 },
} as const;

interface OpenPark {
  readonly id: string;
  readonly run: string;
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly kind: keyof typeof DUE;
  readonly spec: Json;
  readonly due: boolean;
  readonly remind: boolean;
  readonly escalate: boolean;
}

/**
 * A park fell due: it expires, or a reminder or an escalation is sent. Each happens once for its time, however late and
 * however often the tick comes; several missed times cause one reminder. An earlier decision wins.
 */
export async function tickPark(deps: Deps, park: string): Promise<void> {
  const ticked = await deps.db.transaction(async (sql) => {
    const [row] = await sql.query<{ run: string }>('SELECT run_id AS run FROM park WHERE id = $1', [park]);
    if (!row) return null;
    const [run] = await sql.query('SELECT 1 FROM run WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [row.run]);
    const open = run ? await readOpen(sql, park) : null;
    if (!open) return null;
    if (open.due) await expire(sql, open);
    else await remind(sql, open);
    return { run: open.run, expired: open.due };
  });
  if (ticked === null) return;
  if (ticked.expired) failpoint('timeout-committed');
  notifyStreams(deps, ticked.run);
}

/**
 * Reads under the run's lock, which every decision and every tick holds: what is open here stays open until the commit.
 */
async function readOpen(sql: Sql, park: string): Promise<OpenPark | null> {
  const [row] = await sql.query<OpenPark>(
    `SELECT id, run_id AS run, step, item, round, kind, spec, coalesce(due_at <= now(), false) AS due,
        coalesce(remind_at <= now(), false) AS remind, coalesce(escalate_at <= now(), false) AS escalate
      FROM park WHERE id = $1 AND decided_at IS NULL`,
    [park],
  );
  return row && (row.due || row.remind || row.escalate) ? row : null;
}

async function expire(sql: Sql, park: OpenPark): Promise<void> {
  const { decision, event, gates } = DUE[park.kind];
  await sql.query(
    `UPDATE park SET decided_at = now(), decision = $2, decided_by = '{"kind":"clock","id":"clock","label":"the clock"}'
      WHERE id = $1`,
    [park.id, decision],
  );
  await appendEvent(sql, park.run, { type: event, data: placeOf(park), gates });
}

async function remind(sql: Sql, park: OpenPark): Promise<void> {
  const spec = isRecord(park.spec) ? park.spec : {};
  if (park.escalate) await escalateGate(sql, park);
  if (!park.remind) return;
  // Keep the schedule that was set when the gate opened: a late tick does not shift later reminders.
  await sql.query(
    `UPDATE park SET remind_at = remind_at
        + (floor(extract(epoch FROM now() - remind_at) * 1000 / $2::float8) + 1) * $2::float8 * interval '1 millisecond'
      WHERE id = $1`,
    [park.id, Number(spec.remindMs)],
  );
  await appendEvent(sql, park.run, { type: 'approval.reminder', data: placeOf(park) });
}

/**
 * Notifies the escalation target of a gate, once. A tick calls it, and so does a decision of the escalation target,
 * just before it counts. Call it under the run's lock.
 */
export async function escalateGate(
  sql: Sql,
  park: Omit<OpenPark, 'kind' | 'due' | 'remind' | 'escalate'>,
): Promise<void> {
  const escalated = await sql.query(
    'UPDATE park SET escalate_at = NULL WHERE id = $1 AND escalate_at IS NOT NULL RETURNING 1',
    [park.id],
  );
  if (escalated.length === 0) return;
  const spec = isRecord(park.spec) ? park.spec : {};
  const to = isRecord(spec.escalate) ? String(spec.escalate.to) : '';
  await appendEvent(sql, park.run, { type: 'approval.escalated', data: { ...placeOf(park), to } });
}

function placeOf({ id, step, item, round }: Pick<OpenPark, 'id' | 'step' | 'item' | 'round'>): object {
  return { step, item, round, park: id };
}
