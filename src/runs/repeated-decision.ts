import type { Sql } from '../platform/db/contract.js';
import { canonicalJson, type Json } from '../shared/json.js';
import { budgetOf } from './decide-budget.js';
import { readVotes, type Vote } from './may-decide.js';
import type { LockedRun, OpenPark } from './run-rows.js';

interface EarlierGate {
  readonly step: string;
  readonly votes: Json;
  readonly budget: string | null;
  /** Whether the gate asks a question, so that the note of an approval is its answer. */
  readonly asks: boolean;
}

interface Repeatable {
  readonly run: LockedRun;
  readonly park: OpenPark;
  /** The current decision, as it would be stored. */
  readonly vote: Vote;
  /** The step that the request names. */
  readonly step: number | undefined;
}

/**
 * True when the request may be a retry of one whose answer was lost: the same decider has decided the same about an
 * earlier gate of this step (any item) or of this budget, with the same round or none. A decision that names its gate
 * by digest or link is never a retry.
 */
export async function isRepetition(sql: Sql, { run, park, vote, step }: Repeatable): Promise<boolean> {
  if (vote.named === 'gate') return false;
  const voted = await sql.query<EarlierGate>(
    `SELECT step, votes, spec->'budget'->>'key' AS budget, jsonb_path_exists(spec, '$.calls[*].question') AS asks FROM park
      WHERE run_id = $1 AND kind = 'approval' AND id <> $2 AND opened_at <= $3 AND votes @> $4::jsonb`,
    [run.id, park.id, park.openedAt, JSON.stringify([{ who: vote.who }])],
  );
  const budget = budgetOf(park.spec)?.key ?? null;
  const isMeant = (gate: EarlierGate) =>
    gate.step === park.step || (step === undefined && budget !== null && gate.budget === budget);
  return voted.some((gate) => isMeant(gate) && readVotes(gate.votes).some((earlier) => isSame(earlier, vote, gate)));
}

function isSame(earlier: Vote, vote: Vote, { asks }: EarlierGate): boolean {
  return canonicalJson(saidIn(earlier, asks)) === canonicalJson(saidIn(vote, asks));
}

/**
 * The fields in which two requests differ. A note is a comment and may change between retries, unless it is an answer.
 */
function saidIn({ who, decision, named, form, edits, note }: Vote, asks: boolean): Json {
  return [who, decision, named ?? null, form ?? null, edits ?? null, asks ? (note ?? null) : null];
}
