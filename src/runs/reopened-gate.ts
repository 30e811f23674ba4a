import { loadPlan } from '../content/index.js';
import { leavesOf, type Plan } from '../format/index.js';
import type { Sql } from '../platform/db/contract.js';
import type { Json } from '../shared/json.js';
import { readVotes, type Vote } from './may-decide.js';
import type { LockedRun, OpenPark } from './run-rows.js';

interface PastGate {
  readonly step: string;
  readonly item: number;
  /** How many gates of its step and item were opened up to it. */
  readonly round: number;
  readonly decision: string;
  readonly votes: Json;
  readonly openedAt: Date;
  readonly decidedAt: Date;
}

interface Meant {
  readonly run: LockedRun;
  readonly park: OpenPark;
  readonly vote: Vote;
}

/**
 * True when a decision that does not name this gate may have been meant for another gate of the step that is decided:
 * an earlier one of this item, if the request names no round, or one of another item in the named round. That is the
 * case when others or the clock decided that gate without the caller, or when a rejection has sent the run back since.
 */
export async function isReopened(sql: Sql, { run, park, vote }: Meant): Promise<boolean> {
  if (vote.named === 'gate') return false;
  const past = await readPastGates(sql, run.id);
  const ofStep = past.filter(({ step }) => step === park.step);
  const isUnread = ({ votes }: PastGate) => !readVotes(votes).some(({ who }) => who === vote.who);
  const others = ofStep.filter(({ item, round }) => item !== park.item && (vote.named ?? round) === round);
  if (others.some(isUnread)) return true;
  const earlier = ofStep.filter(({ item }) => item === park.item);
  const [first] = earlier;
  if (!first || vote.named !== undefined) return false;
  if (earlier.some((gate) => gate.decision !== 'reject' && isUnread(gate))) return true;
  const plan = await loadPlan({ db: sql }, run.workspaceId, run.planId);
  return past.some((gate) => gate.decidedAt >= first.openedAt && isRejected(plan, gate));
}

async function readPastGates(sql: Sql, runId: string): Promise<readonly PastGate[]> {
  return sql.query<PastGate>({
    name: 'past-gates',
    text: `SELECT * FROM (
        SELECT step, item, decision, votes, opened_at AS "openedAt", decided_at AS "decidedAt",
          (row_number() OVER (PARTITION BY step, item ORDER BY opened_at, id))::int AS round
        FROM park WHERE run_id = $1 AND kind = 'approval') gates
      WHERE "decidedAt" IS NOT NULL AND decision <> 'void' ORDER BY "openedAt"`,
    values: [runId],
  });
}

/** Rejected by a person, or by a timeout after which the step counts as rejected or failed. */
function isRejected(plan: Plan, { step, decision }: PastGate): boolean {
  if (decision !== 'timeout') return decision === 'reject';
  return leavesOf(plan).find(({ id }) => id === step)?.gate?.onTimeout !== 'continue';
}
