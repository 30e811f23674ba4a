import { loadPlan } from '../content/index.js';
import type { Decided, GateMark } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import { announceRuns, appendEvent, enqueueOutbox, escalateGate, type GateSpec } from '../engine/index.js';
import { validate } from '../format/index.js';
import { audit, findWorkspace, type RecordAnswer } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { toJson } from '../shared/exact-json.js';
import { failpoint } from '../shared/failpoint.js';
import { canonicalJson, isRecord, type Json, type JsonObject } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import type { Actor, Caller } from '../shared/roles.js';
import { budgetOf, decideBudget } from './decide-budget.js';
import { applyEdits, assertEdits } from './edits.js';
import { refuseFaults } from './faults.js';
import { approvalsIn, assertMayDecide, mayDecide, noteOf, readVotes, type Vote, withVote } from './may-decide.js';
import { gateNamedIn, pickGate } from './pick-gate.js';
import { auditRefusal } from './refused-decision.js';
import { type LockedRun, lockRun, type OpenPark, starterOf } from './run-rows.js';
import { readWork } from './step-work.js';

export interface DecideRunInput extends Decision {
  readonly workspace: string;
}

/** A decision about a run's gate. */
interface Decision {
  readonly runId: string;
  readonly decision: 'approve' | 'reject';
  readonly step?: number | undefined;
  /** The id of the gate's park. A link is valid for this gate only. */
  readonly park?: string | undefined;
  /** The gate mark that the decider saw. A gate whose mark is now another one is not decided. */
  readonly round?: number | undefined;
  readonly digest?: string | undefined;
  readonly note?: string | undefined;
  readonly reason?: string | undefined;
  /** Edited work of steps that the gate lets a decider change, by step id. */
  readonly edits?: Readonly<Record<string, Json>> | undefined;
  /** The values of the gate's form. */
  readonly form?: Json | undefined;
  /** Records the answer under the caller's idempotency key, in the transaction of the decision. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** The texts of a decision in the trace, verbatim from the contract (section 2). */
const TEXTS = {
  approve: { link: 'approved via emailed link', human: 'approved by a human' },
  reject: { link: 'rejected via emailed link', human: 'rejected by a human' },
} as const;

/**
 * Decides an open gate. The first decision is final: a late click, a second channel or a timeout gets `conflict` with
 * who decided what and when. The workflow, not this call, continues the run.
 */
export async function decideRun(deps: Deps, caller: Caller, { workspace, ...input }: DecideRunInput): Promise<Decided> {
  return decide(deps, caller, { ...input, find: async (sql) => (await findWorkspace(sql, caller, workspace)).id });
}

/** The same for a workspace known by its id, which stays valid when the workspace is renamed. */
export async function decideRunIn(
  deps: Deps,
  caller: Caller,
  { workspaceId, ...input }: Decision & { readonly workspaceId: string },
): Promise<Decided> {
  return decide(deps, caller, { ...input, find: async () => workspaceId });
}

async function decide(deps: Deps, caller: Caller, input: Ask): Promise<Decided> {
  const { answer, otherRuns } = await deps.db
    .transaction((sql) => decideIn(deps, caller, { sql, input }))
    .catch(async (error: unknown) => {
      await auditRefusal(deps, caller, input, error);
      throw error;
    });
  failpoint(input.decision === 'approve' && answer.decided < answer.need ? 'vote-counted' : 'decision-committed');
  void announceRuns(deps, [input.runId, ...otherRuns]);
  return answer;
}

/** A decision, with a function that finds the id of its workspace. */
type Ask = Decision & { readonly find: (sql: Sql) => Promise<string> };

async function decideIn(
  { clock }: Deps,
  caller: Caller,
  { sql, input }: { readonly sql: Sql; readonly input: Ask },
): Promise<{ readonly answer: Decided; readonly otherRuns: readonly string[] }> {
  const run = await lockRun(sql, await input.find(sql), input.runId);
  refuseEval(run);
  const nowMs = clock.now();
  const vote = voteOf(caller, input, nowMs);
  const { park, mark } = await pickGate(sql, run, { named: input, vote, isNew: input.recordAnswer !== undefined });
  const gate = park.spec as unknown as GateSpec;
  const moment = { gate, openedAtMs: park.openedAt.getTime(), nowMs, starter: starterOf(run) };
  const actor = assertMayDecide(moment, caller);
  const before = readVotes(park.votes);
  if (isRepeated(before, vote)) {
    return { answer: { ok: true, decided: approvalsIn(before), need: park.need }, otherRuns: [] };
  }
  await assertFits(sql, run, gate, vote);
  // Only the escalation target may decide in this case, so record the escalation before the decision.
  if (!mayDecide({ ...moment, gate: { ...gate, escalate: null } }, caller))
    await escalateGate(sql, { ...park, run: run.id });
  const { otherRuns, ...answer } = await count(sql, run, park, { actor, mark, vote, votes: withVote(before, vote) });
  await audit(sql, caller, 'run.decide', run.id, auditDetail(park, { actor, mark, vote }));
  await input.recordAnswer?.(sql, answer);
  return { answer, otherRuns };
}

/** Decisions of an eval run come from its case only. */
function refuseEval({ mode }: LockedRun): void {
  if (mode !== 'eval') return;
  throw new Refusal('conflict', 'the run is an eval’s: decisions come from its case, under ### Decisions');
}

/** The id under which a caller's vote counts: the person's id, whatever the channel. */
function deciderOf({ person, actor }: Caller): string {
  return person?.id ?? actor.id;
}

function voteOf(caller: Caller, input: Decision, nowMs: number): Vote {
  const { decision, form, edits } = input;
  return {
    who: deciderOf(caller),
    label: caller.actor.label,
    at: new Date(nowMs).toISOString(),
    decision,
    note: noteOf(input),
    ...(form === undefined ? {} : { form }),
    ...(edits === undefined || Object.keys(edits).length === 0 ? {} : { edits }),
    ...gateNamedIn(input),
  };
}

function auditDetail(park: OpenPark, { actor, mark, vote }: Omit<Ballot, 'votes'>): object {
  const { decision, edits } = vote;
  const edited = edits === undefined ? {} : { edited: Object.keys(edits) };
  return { step: park.step, decision, via: viaOf(actor), gate: mark, ...edited };
}

/**
 * The channel of a decision. The texts of the trace separate links from people; this also separates keys from sessions.
 */
function viaOf({ kind }: Actor): 'session' | 'key' | 'link' {
  return kind === 'link' || kind === 'key' ? kind : 'session';
}

/**
 * True for a person's repeated approval, which does not count again. Refuses a repetition with other edits or another
 * form.
 */
function isRepeated(before: readonly Vote[], vote: Vote): boolean {
  const first = before.find((other) => other.who === vote.who && other.decision === vote.decision);
  if (!first) return false;
  const differs = (['edits', 'form'] as const).some(
    (key) => vote[key] !== undefined && canonicalJson(vote[key]) !== canonicalJson(first[key]),
  );
  if (!differs) return true;
  throw new Refusal(
    'conflict',
    `you approved this at ${first.at} already; other edits or another form are not accepted`,
  );
}

/** Refuses edits and forms that do not fit the gate, before anything is written. */
async function assertFits(sql: Sql, run: LockedRun, gate: GateSpec, vote: Vote): Promise<void> {
  assertForm(gate.form, vote.decision, vote.form);
  const { edits } = vote;
  if (edits === undefined) return;
  if (vote.decision === 'reject') {
    refuseFaults([{ path: 'edits', message: 'only an approval carries edits; say in the note what should change' }]);
  }
  const plan = await loadPlan({ db: sql }, run.workspaceId, run.planId);
  assertEdits(edits, { edit: gate.edit, plan, work: await readWork(sql, run.id, gate.edit) });
}

interface Ballot {
  readonly actor: Actor;
  readonly mark: GateMark;
  readonly vote: Vote;
  readonly votes: readonly Vote[];
}

interface Counted extends Decided {
  /** Other runs that continue after this decision. */
  readonly otherRuns: readonly string[];
}

/** Counts each person once. The first rejection closes the gate; the last approval needed opens it. */
async function count(sql: Sql, run: LockedRun, park: OpenPark, ballot: Ballot): Promise<Counted> {
  const { actor, vote, votes } = ballot;
  const { decision, note } = vote;
  const approvals = approvalsIn(votes);
  const final = decision === 'reject' || approvals >= park.need;
  const edited = final && decision === 'approve' ? await editSteps(sql, run, park, votes) : [];
  await sql.query(
    `UPDATE park SET votes = $2, decided_at = CASE WHEN $3 THEN now() END, decision = CASE WHEN $3 THEN $4 END,
      decided_by = CASE WHEN $3 THEN $5::jsonb END, note = coalesce($6, note), payload = CASE WHEN $3 THEN $7::jsonb END
      WHERE id = $1 AND decided_at IS NULL`,
    [park.id, toJson(votes), final, decision, toJson(actor), note, toJson(payloadOf(park, ballot, edited))],
  );
  const channel = actor.kind === 'link' ? 'link' : 'human';
  await appendEvent(sql, run.id, {
    type: final ? 'approval.decided' : 'approval.counted',
    data: {
      step: park.step,
      item: park.item,
      round: park.round,
      park: park.id,
      decision,
      text: TEXTS[decision][channel],
      by: actor.label,
      via: viaOf(actor),
      note,
    },
    gates: final ? -1 : 0,
  });
  if (final) await enqueueOutbox(sql, run.id, 'approval', park.id);
  const budget = final ? budgetOf(park.spec) : null;
  const more = {
    runId: run.id,
    park: park.id,
    decision,
    actor,
    note: note ?? null,
    text: TEXTS[decision][channel],
    via: viaOf(actor),
  };
  const otherRuns = budget ? await decideBudget(sql, { ...more, budget, votes: votes as unknown as Json }) : [];
  return { ok: true, decided: approvals, need: park.need, otherRuns };
}

async function editSteps(sql: Sql, run: LockedRun, park: OpenPark, votes: readonly Vote[]): Promise<readonly string[]> {
  if (votes.every((vote) => vote.edits === undefined)) return [];
  const plan = await loadPlan({ db: sql }, run.workspaceId, run.planId);
  return applyEdits(sql, { id: run.id, plan }, { votes, gate: park.step });
}

/**
 * What the step's `decision` shows besides the decider and the time: the newest form, and all votes when it took
 * several.
 */
function payloadOf({ need }: OpenPark, { actor, mark, votes }: Ballot, edited: readonly string[]): object {
  const form = votes.findLast((vote) => vote.form !== undefined)?.form ?? null;
  const all = votes.map(({ label, at, decision, note = null, form = null }) => ({
    by: label,
    at,
    decision,
    note,
    form,
  }));
  return {
    form,
    via: viaOf(actor),
    gate: mark,
    ...(edited.length === 0 ? {} : { edited }),
    ...(need === 1 ? {} : { votes: all }),
  };
}

/**
 * Refuses a form that the gate does not ask for or that does not match its schema. An approval without a form counts as
 * an empty form, so required fields are refused. A rejection may leave the form out.
 */
function assertForm(schema: Json, decision: 'approve' | 'reject', form: Json | undefined): void {
  if (!isRecord(schema)) {
    if (form !== undefined) refuseFaults([{ path: 'form', message: 'this gate has no form; leave it out' }]);
    return;
  }
  if (form === undefined && decision === 'reject') return;
  const faults = validate(schema as JsonObject, form ?? {});
  refuseFaults(faults.map((message) => ({ path: 'form', message })));
}
