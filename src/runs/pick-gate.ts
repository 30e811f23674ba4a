import { loadPlan } from '../content/index.js';
import type { GateMark } from '../contract/runs.js';
import { leavesOf, type Plan } from '../format/index.js';
import type { Sql } from '../platform/db/contract.js';
import { canonicalJson, isRecord, type Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { budgetOf } from './decide-budget.js';
import { readGateMark } from './gate-mark.js';
import { readVotes, type Vote } from './may-decide.js';
import { itemOf, type LockedRun, type OpenPark, openParks, parkTitle } from './run-rows.js';

/** The gate that a decision names, and the mark that its decider saw. */
interface NamedGate {
  /** The step's number. */
  readonly step?: number | undefined;
  /** The id of the gate's park; a link is valid for this gate only. */
  readonly park?: string | undefined;
  readonly round?: number | undefined;
  readonly digest?: string | undefined;
}

interface PickedGate {
  readonly park: OpenPark;
  readonly mark: GateMark;
}

/** A decision that is not yet counted. */
interface Cast {
  readonly named: NamedGate;
  readonly vote: Vote;
  /** True when an `Idempotency-Key` proves that this request repeats no earlier one. */
  readonly isNew: boolean;
}

/**
 * Finds the open gate that a decision names, with its mark. Refuses a decision whose round or digest differs from the
 * gate's, and one that may have been meant for an earlier gate of the step.
 */
export async function pickGate(sql: Sql, run: LockedRun, { named, vote, isNew }: Cast): Promise<PickedGate> {
  const open = run.ended ? [] : await openParks(sql, run.id, 'approval');
  const candidates = await markAll(
    sql,
    run,
    open.filter((park) => isNamed(named, park)),
  );
  if (candidates.length === 0) throw await nothingWaits(sql, run, named);
  const fitting = candidates.filter(({ mark }) => fits(named, mark));
  if (fitting.length === 0) throw changed(candidates);
  const [first] = fitting;
  if (!first || (fitting.length > 1 && !areOneBudget(fitting))) throw severalWait(fitting);
  const { park } = first;
  const doubt =
    (await findOtherGate(sql, { run, park, vote })) ??
    (isNew ? null : await findRepetition(sql, { run, park, vote, step: named.step }));
  if (doubt !== null) throw doubtful(first, doubt);
  return first;
}

/** The part of the request's gate that its vote records. */
export function gateNamedIn({ park, round, digest }: NamedGate): Pick<Vote, 'named'> {
  if (park !== undefined || digest !== undefined) return { named: 'gate' };
  return round === undefined ? {} : { named: round };
}

async function markAll(sql: Sql, run: LockedRun, parks: readonly OpenPark[]): Promise<PickedGate[]> {
  const marked: PickedGate[] = [];
  for (const park of parks) marked.push({ park, mark: await readGateMark(sql, run.id, park) });
  return marked;
}

function isNamed({ step, park }: NamedGate, gate: Pick<OpenPark, 'id' | 'step' | 'spec'>): boolean {
  return (park === undefined || park === gate.id) && (step === undefined || parkTitle(gate).n === step);
}

function fits({ round, digest }: NamedGate, mark: GateMark): boolean {
  return (round === undefined || round === mark.round) && (digest === undefined || digest === mark.digest);
}

/** True when all gates wait for the same budget: one decision decides them together. */
function areOneBudget(gates: readonly PickedGate[]): boolean {
  const keys = new Set(gates.map(({ park }) => budgetOf(park.spec)?.key ?? null));
  return keys.size === 1 && !keys.has(null);
}

/** Each gate with its mark, so that the caller can review and name one. */
function waitingOf(gates: readonly PickedGate[]): object[] {
  return gates.map(({ park, mark }) => {
    const { n, title } = parkTitle(park);
    return { step: n, title, id: park.step, ...itemOf(park), gate: mark };
  });
}

function severalWait(gates: readonly PickedGate[]): Refusal {
  const steps = new Set(gates.map(({ park }) => park.step));
  const names = gates.map(({ park }) => `${parkTitle(park).n} (${parkTitle(park).title})`).join(', ');
  const message =
    steps.size > 1
      ? `more than one step waits for a decision: ${names}; name one as step`
      : `more than one gate of step ${names.split(', ')[0]} waits for a decision; name one by the digest of its gate`;
  return new Refusal('conflict', message, { waiting: waitingOf(gates) });
}

/** The open gate for the refusal's details, when there is exactly one, with its step. */
function openNow(gates: readonly PickedGate[]): Readonly<Record<string, unknown>> {
  const [only, ...more] = gates;
  const gate = only && more.length === 0 ? { gate: only.mark } : {};
  return { code: 'changed', ...gate, waiting: waitingOf(gates) };
}

function changed(gates: readonly PickedGate[]): Refusal {
  return new Refusal('conflict', 'what is to be decided has changed since, review again', openNow(gates));
}

/** Which other gate a decision may have been meant for: an earlier round, another item, or one that got the same decision. */
type Doubt = 'round' | 'item' | 'repeated';

function doubtful(gate: PickedGate, doubt: Doubt): Refusal {
  const { n, title } = parkTitle(gate.park);
  const step = `step ${n} (${title})`;
  const { round } = gate.mark;
  // A round is only unique within its item, so it does not resolve the last two.
  const messages: Readonly<Record<Doubt, string>> = {
    round: `what is to be decided has changed since, review again: the gate of ${step} is open for round ${round}; send the round and digest of its gate`,
    item: `another item's gate of ${step} was decided without you: send the digest of the gate that you read`,
    repeated: `you made the same decision about another gate already: send the digest of the gate of ${step} that you read`,
  };
  return new Refusal('conflict', messages[doubt], openNow([gate]));
}

/** Says what was decided already, by whom and when, or why nothing can be decided. */
async function nothingWaits(sql: Sql, run: LockedRun, named: NamedGate): Promise<Refusal> {
  const { step } = named;
  const past = await sql.query<{
    id: string;
    step: string;
    spec: Json;
    decision: string;
    decidedBy: Json;
    decidedAt: Date;
  }>(
    `SELECT id, step, spec, decision, decided_by AS "decidedBy", decided_at AS "decidedAt" FROM park
      WHERE run_id = $1 AND kind = 'approval' AND decided_by IS NOT NULL AND ($2::text IS NULL OR id = $2)
      ORDER BY decided_at DESC LIMIT 20`,
    [run.id, named.park ?? null],
  );
  const last = past.find((park) => isNamed(named, park));
  if (last) {
    const by = isRecord(last.decidedBy) ? String(last.decidedBy.label) : 'the clock';
    const at = last.decidedAt.toISOString();
    const word = WORDS[last.decision] ?? last.decision;
    const { n, title } = parkTitle(last);
    return new Refusal('conflict', `step ${n} (${title}) was ${word} by ${by} at ${at}`, {
      decided: { step: n, decision: last.decision, by, at },
    });
  }
  if (run.ended) return new Refusal('conflict', `the run has ended: ${run.error ?? run.status}`);
  return new Refusal(
    'conflict',
    step === undefined ? 'the run waits for no decision' : `step ${step} waits for no decision`,
  );
}

const WORDS: Readonly<Record<string, string>> = {
  approve: 'approved',
  reject: 'rejected',
  timeout: 'timed out',
};

interface EarlierGate {
  readonly step: string;
  readonly item: number;
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
 * Finds what makes the request look like a retry of one whose answer was lost: the same decider has decided the same
 * about an earlier gate of this step (any item) or of this budget, with the same round or none. A decision that names
 * its gate by digest or link is never a retry.
 */
async function findRepetition(sql: Sql, { run, park, vote, step }: Repeatable): Promise<Doubt | null> {
  if (vote.named === 'gate') return null;
  const voted = await sql.query<EarlierGate>(
    `SELECT step, item, votes, spec->'budget'->>'key' AS budget, jsonb_path_exists(spec, '$.calls[*].question') AS asks FROM park
      WHERE run_id = $1 AND kind = 'approval' AND id <> $2 AND opened_at <= $3 AND votes @> $4::jsonb`,
    [run.id, park.id, park.openedAt, JSON.stringify([{ who: vote.who }])],
  );
  const budget = budgetOf(park.spec)?.key ?? null;
  const isMeant = (gate: EarlierGate) =>
    gate.step === park.step || (step === undefined && budget !== null && gate.budget === budget);
  const same = voted.filter(
    (gate) => isMeant(gate) && readVotes(gate.votes).some((earlier) => isSame(earlier, vote, gate)),
  );
  if (same.length === 0) return null;
  const isOtherItem = same.some(({ step, item }) => step === park.step && item !== park.item);
  return vote.named !== undefined || isOtherItem ? 'repeated' : 'round';
}

function isSame(earlier: Vote, vote: Vote, { asks }: EarlierGate): boolean {
  return canonicalJson(voteText(earlier, asks)) === canonicalJson(voteText(vote, asks));
}

/**
 * The fields that distinguish two requests. A note is a comment and may change between retries, unless it is an answer.
 */
function voteText({ who, decision, named, form, edits, note }: Vote, asks: boolean): Json {
  return [who, decision, named ?? null, form ?? null, edits ?? null, asks ? (note ?? null) : null];
}

interface PastGate {
  readonly step: string;
  readonly item: number;
  /** The gate's number among those of its step and item, from 1. */
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
 * Finds another decided gate of the step that a decision which does not name this gate may have been meant for: an
 * earlier one of this item, if the request names no round, or one of another item in the named round. That is the case
 * when others, the clock or another branch of a `join: any` closed that gate without the caller, or when a rejection
 * sent the run back to this gate.
 */
async function findOtherGate(sql: Sql, { run, park, vote }: Meant): Promise<Doubt | null> {
  if (vote.named === 'gate') return null;
  const past = await readPastGates(sql, run.id);
  const ofStep = past.filter(({ step }) => step === park.step);
  const isUnread = ({ votes }: PastGate) => !readVotes(votes).some(({ who }) => who === vote.who);
  const others = ofStep.filter(({ item, round }) => item !== park.item && (vote.named ?? round) === round);
  if (others.some(isUnread)) return 'item';
  const earlier = ofStep.filter(({ item }) => item === park.item);
  const [first] = earlier;
  if (!first || vote.named !== undefined) return null;
  if (earlier.some((gate) => gate.decision !== 'reject' && isUnread(gate))) return 'round';
  const plan = await loadPlan({ db: sql }, run.workspaceId, run.planId);
  // A gate that was decided after this one opened did not reopen it. Both times are of the database's clock.
  const since = past.filter(({ decidedAt }) => decidedAt >= first.openedAt && decidedAt <= park.openedAt);
  return since.some((gate) => isRejected(plan, gate)) ? 'round' : null;
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
