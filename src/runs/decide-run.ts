import { audit } from '../accounts/index.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { appendEvent, type GateSpec, post, tellEvents, tellNow } from '../engine/index.js';
import { failpoint } from '../shared/failpoint.js';
import { isRecord, type Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import type { Actor, Caller } from '../shared/roles.js';
import { findWorkspace } from '../workspaces/index.js';
import { assertMayDecide } from './may-decide.js';
import { type LockedRun, lockRun, type OpenPark, openParks, parkTitle, starterOf } from './run-rows.js';

export interface DecideRunInput {
  readonly workspace: string;
  readonly runId: string;
  readonly decision: 'approve' | 'reject';
  readonly step?: number | undefined;
  readonly note?: string | undefined;
  readonly reason?: string | undefined;
}

export interface Decided {
  readonly ok: true;
  /** How many have approved so far, and how many it takes. */
  readonly decided: number;
  readonly need: number;
}

interface Vote {
  readonly who: string;
  readonly label: string;
  readonly at: string;
}

/** The traces' texts of a decision, to the letter (spec, section 2). */
const TEXTS = {
  approve: { link: 'approved via emailed link', human: 'approved by a human' },
  reject: { link: 'rejected via emailed link', human: 'rejected by a human' },
} as const;

/**
 * Decides an open gate. The first decision stands: a late click, a second channel or a timeout gets `conflict` with
 * who decided what and when. The workflow, not this call, moves the run on.
 */
export async function decideRun(deps: Deps, caller: Caller, input: DecideRunInput): Promise<Decided> {
  const decided = await deps.db.transaction(async (sql) => {
    const workspace = await findWorkspace(sql, caller, input.workspace);
    const run = await lockRun(sql, workspace.id, input.runId);
    const park = await pickGate(sql, run, input.step);
    const nowMs = deps.clock.now();
    const gate = park.spec as unknown as GateSpec;
    const actor = assertMayDecide(
      { gate, openedAtMs: park.openedAt.getTime(), nowMs, starter: starterOf(run) },
      caller,
    );
    const outcome = await vote(sql, run, park, { actor, caller, input, at: new Date(nowMs) });
    await audit(sql, caller, 'run.decide', run.id, { step: park.step, decision: input.decision });
    return outcome;
  });
  failpoint('decision-committed');
  tellEvents(deps, input.runId);
  void tellNow(deps, input.runId);
  return decided;
}

interface Ballot {
  readonly actor: Actor;
  readonly caller: Caller;
  readonly input: DecideRunInput;
  readonly at: Date;
}

/** Counts one person once; the first reject ends the gate, the last approval needed opens it. */
async function vote(sql: Sql, run: LockedRun, park: OpenPark, ballot: Ballot): Promise<Decided> {
  const { actor, caller, input, at } = ballot;
  const who = caller.person?.id ?? actor.id;
  const before = (Array.isArray(park.votes) ? park.votes : []) as unknown as Vote[];
  const note = input.note ?? input.reason ?? null;
  const votes = before.some((one) => one.who === who)
    ? before
    : [...before, { who, label: actor.label, at: at.toISOString() }];
  const final = input.decision === 'reject' || votes.length >= park.need;
  await sql.query(
    `UPDATE park SET votes = $2, decided_at = CASE WHEN $3 THEN now() END, decision = CASE WHEN $3 THEN $4 END,
      decided_by = CASE WHEN $3 THEN $5::jsonb END, note = coalesce($6, note) WHERE id = $1 AND decided_at IS NULL`,
    [park.id, JSON.stringify(votes), final, input.decision, JSON.stringify(actor), note],
  );
  const channel = actor.kind === 'link' ? 'link' : 'human';
  await appendEvent(sql, run.id, {
    type: final ? 'approval.decided' : 'approval.counted',
    data: {
      step: park.step,
      item: park.item,
      round: park.round,
      park: park.id,
      decision: input.decision,
      text: TEXTS[input.decision][channel],
      by: actor.label,
      note,
    },
    gates: final ? -1 : 0,
  });
  if (final) await post(sql, run.id, 'approval', park.id);
  return { ok: true, decided: votes.length, need: park.need };
}

/** The open gate that is meant. With two open and none named the caller has to say which. */
async function pickGate(sql: Sql, run: LockedRun, step: number | undefined): Promise<OpenPark> {
  const open = run.ended ? [] : await openParks(sql, run.id, 'approval');
  const meant = step === undefined ? open : open.filter((park) => parkTitle(park).n === step);
  const [first] = meant;
  if (first && meant.length === 1) return first;
  if (meant.length > 1) {
    const list = meant.map((park) => ({ step: parkTitle(park).n, title: parkTitle(park).title, id: park.step }));
    const names = list.map((one) => `${one.step} (${one.title})`).join(', ');
    throw new Refusal('conflict', `more than one step waits for a decision: ${names}; name one as step`, {
      waiting: list,
    });
  }
  throw await nothingWaits(sql, run, step);
}

/** Says what was decided already, by whom and when, or why nothing can be. */
async function nothingWaits(sql: Sql, run: LockedRun, step: number | undefined): Promise<Refusal> {
  const past = await sql.query<{ step: string; spec: Json; decision: string; decidedBy: Json; decidedAt: Date }>(
    `SELECT step, spec, decision, decided_by AS "decidedBy", decided_at AS "decidedAt" FROM park
      WHERE run_id = $1 AND kind = 'approval' AND decided_by IS NOT NULL ORDER BY decided_at DESC LIMIT 20`,
    [run.id],
  );
  const last = past.find((park) => step === undefined || parkTitle(park).n === step);
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

const WORDS: Readonly<Record<string, string>> = { approve: 'approved', reject: 'rejected', timeout: 'timed out' };
