import type { Sql } from '../db/contract.js';
import type { Json } from '../shared/json.js';
import type { Plan } from '../workspace/index.js';
import { leavesOf } from '../workspace/model.js';
import { loadPlan } from '../workspaces/index.js';
import type { LockedRun, OpenPark } from './run-rows.js';
import { readVotes } from './votes.js';

interface PastGate {
  readonly step: string;
  readonly item: number;
  readonly decision: string | null;
  readonly votes: Json;
  readonly openedAt: Date;
  readonly decidedAt: Date | null;
}

/**
 * True when a decision without a round may have been meant for an earlier gate of the step: since that gate opened, a
 * rejection has sent the run back, or others have approved it without the caller.
 */
export async function isReopened(
  sql: Sql,
  { run, park, decider }: { readonly run: LockedRun; readonly park: OpenPark; readonly decider: string },
): Promise<boolean> {
  if (park.gateRound === 1) return false;
  const past = await sql.query<PastGate>(
    `SELECT step, item, decision, votes, opened_at AS "openedAt", decided_at AS "decidedAt" FROM park
      WHERE run_id = $1 AND kind = 'approval' AND id <> $2 AND opened_at <= $3 ORDER BY opened_at`,
    [run.id, park.id, park.openedAt],
  );
  const earlier = past.filter(({ step, item }) => step === park.step && item === park.item);
  const [first] = earlier;
  if (!first) return false;
  const plan = await loadPlan({ db: sql }, run.workspaceId, run.planId);
  const isSince = ({ decidedAt }: PastGate) => decidedAt !== null && decidedAt >= first.openedAt;
  if (past.some((gate) => isRejected(plan, gate) && isSince(gate))) return true;
  return earlier.some(
    ({ decision, votes }) => decision === 'approve' && !readVotes(votes).some(({ who }) => who === decider),
  );
}

/** Rejected by a person, or by a timeout where the flow rejects on timeout. */
function isRejected(plan: Plan, { step, decision }: PastGate): boolean {
  if (decision !== 'timeout') return decision === 'reject';
  return leavesOf(plan).find(({ id }) => id === step)?.gate?.onTimeout === 'reject';
}
