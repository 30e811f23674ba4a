import type { GateMark } from '../contract/runs.js';
import type { Sql } from '../platform/db/contract.js';
import { isRecord, type Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { budgetOf } from './decide-budget.js';
import { readGateMark } from './gate-mark.js';
import type { Vote } from './may-decide.js';
import { isReopened } from './reopened-gate.js';
import { isRepetition } from './repeated-decision.js';
import { type LockedRun, type OpenPark, openParks, parkTitle } from './run-rows.js';

/** The gate that a decision names, and the mark that its decider saw. */
export interface NamedGate {
  /** The step's number. */
  readonly step?: number | undefined;
  /** The id of the gate's park; a link is valid for this gate only. */
  readonly park?: string | undefined;
  readonly round?: number | undefined;
  readonly digest?: string | undefined;
}

export interface PickedGate {
  readonly park: OpenPark;
  readonly mark: GateMark;
}

/** A decision that is not yet counted. */
export interface Cast {
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
  if (await isReopened(sql, { run, park, vote })) throw reopened(first);
  if (!isNew && (await isRepetition(sql, { run, park, vote, step: named.step }))) throw reopened(first);
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
    return { step: n, title, id: park.step, gate: mark };
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

function reopened(gate: PickedGate): Refusal {
  const { park, mark } = gate;
  const { n, title } = parkTitle(park);
  return new Refusal(
    'conflict',
    `what is to be decided has changed since, review again: the gate of step ${n} (${title}) is open for round ${mark.round}; send the round and digest of its gate`,
    openNow([gate]),
  );
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
