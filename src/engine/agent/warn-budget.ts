import { Lru } from '../../shared/lru.js';
import { toUsd } from '../../shared/money.js';
import { storableJson } from '../../shared/storable-json.js';
import { notifyStreams } from '../rows/notify-streams.js';
import { type Cap, runOfCap, spentOf } from './caps.js';
import type { Session } from './session.js';

/** Percentage of a run's budget that triggers the warning. */
const WARN_AT = 80n;

/** Runs that have been warned. The row is authoritative; this spares reading it. */
const warned = new Lru<string, true>(1_000);

/** Warns each run once that most of its budget is spent: the run at work, and those above it. */
export async function warnOfBudgets({ lane, step }: Session, caps: readonly Cap[], cost: bigint): Promise<void> {
  for (const cap of caps) {
    const runId = runOfCap(cap);
    const spent = spentOf(cap) + cost;
    if (runId === null || spent * 100n < cap.budget * WARN_AT || warned.get(runId)) continue;
    const rows = await lane.deps.db.query({
      name: 'warn-of-budget',
      text: `WITH r AS (UPDATE run SET budget_warned = true, last_seq = last_seq + 1
          WHERE id = $1 AND NOT budget_warned AND finished_at IS NULL RETURNING last_seq)
        INSERT INTO run_event (run_id, seq, type, data) SELECT $1, last_seq, 'budget.warning', $2 FROM r RETURNING seq`,
      values: [
        runId,
        storableJson({
          ...(runId === lane.run.id ? { step: step.id } : {}),
          budgetUsd: toUsd(cap.budget),
          spentUsd: toUsd(spent),
          percent: Number((spent * 100n) / (cap.budget > 0n ? cap.budget : 1n)),
        }),
      ],
    });
    warned.set(runId, true);
    if (rows.length > 0) notifyStreams(lane.deps, runId);
  }
}
