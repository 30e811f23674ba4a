import type { Sql } from '../db/contract.js';
import { canonicalJson, type Json } from '../shared/json.js';
import { budgetOf } from './decide-budget.js';
import type { LockedRun, OpenPark } from './run-rows.js';
import { readVotes, type Vote } from './votes.js';

interface EarlierGate {
  readonly step: string;
  readonly votes: Json;
  readonly budget: string | null;
  /** The note of an approval is the answer to its question. */
  readonly asks: boolean;
}

interface Repeatable {
  readonly run: LockedRun;
  readonly park: OpenPark;
  /** What is decided now, as it would be kept. */
  readonly vote: Vote;
  /** The step that the request names. */
  readonly step: number | undefined;
}

/**
 * True when the decision may be a request that was sent again because its answer was lost: the same decider has said the
 * same of an earlier gate of this step (of any item) or of this budget, and named the same round or none. A decision
 * that names the one gate is never one.
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

/** What tells one request from another. A note is a comment, which may change between attempts, unless it is an answer. */
function saidIn({ who, decision, named, form, edits, note }: Vote, asks: boolean): Json {
  return [who, decision, named ?? null, form ?? null, edits ?? null, asks ? (note ?? null) : null];
}
