import type { ToolCall, ToolResult } from '../../models/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { isRecord } from '../../shared/json.js';
import { createSemaphore } from '../../shared/semaphore.js';
import { type AgentTool, realCall } from '../../tools/index.js';
import type { Stop } from '../../workflows/contract.js';
import type { JournalCall } from '../journal/claim.js';
import { type Deaths, isSuspect, NO_DEATHS, readDeaths, startMark } from './deaths.js';
import { isGated, runGatedCalls } from './gated-calls.js';
import { checkCall } from './invalid-call.js';
import { makeCall } from './make-call.js';
import { type Finished, finishCall, preview, refuseCall, startCall } from './record-call.js';
import { RUN_AGENT } from './run-agent-tool.js';
import { runSubAgents } from './run-sub-agents.js';
import { addMessage, type Entry, journalKey, type Session, type TurnCalls, turnsOf } from './session.js';
import { recordFileEvents, storeFiles } from './store-files.js';
import { guardAgainstLoops, repeatsItself } from './stuck.js';
import { callInTurn } from './suspect-call.js';

const PARALLEL_CALLS = 8;
const PARALLEL_PROGRAMS = 4;
const INTERRUPTED = 'interrupted, may have partly run';

/** Makes all calls of a turn in parallel; results are in the order of the calls. A stop is a gate on one of them. */
export async function runTools(session: Session, asked: Extract<Entry, { role: 'assistant' }>): Promise<Stop | null> {
  const turn = turnsOf(session) - 1;
  guardAgainstLoops(session);
  const real = asked.calls.map(realCall);
  const results = real.map((call, index) => knownResult(session, turn, call, index + 1));
  const deaths = await Promise.all(real.map((call, index) => deathsOf(session, turn, call, index + 1)));
  const calls: TurnCalls = { turn, calls: real, results, deaths };
  const stop = await make(session, calls, unanswered(session, calls, false));
  if (stop) return stop;
  const gated = unanswered(session, calls, true);
  if (gated.length > 0) {
    const answer = await runGatedCalls(session, calls, gated);
    if (!('released' in answer)) return answer;
    const stopped = await make(session, calls, answer.released);
    if (stopped) return stopped;
  }
  // The provider expects results under the names that it gave.
  const named = asked.calls.flatMap(({ name }, index) => withName(results[index] ?? null, name));
  addMessage(session, { role: 'tool', results: named });
  if (repeatsItself(session)) {
    addMessage(session, {
      role: 'user',
      text: 'You have made the same call three times in a row. Try another way, or answer with what you have.',
    });
  }
  return null;
}

function withName(result: ToolResult | null, name: string): ToolResult[] {
  return result === null ? [] : [{ ...result, name }];
}

/**
 * Makes the calls: first the safe ones together, then each suspect one alone. Delegated ones start after all others.
 */
async function make(session: Session, calls: TurnCalls, indexes: readonly number[]): Promise<Stop | null> {
  const isHanded = (index: number): boolean => calls.calls[index]?.name === RUN_AGENT;
  const deathsAt = (index: number): Deaths => calls.deaths[index] ?? NO_DEATHS;
  const fresh = indexes.filter((index) => !isHanded(index));
  const safe = fresh.filter((index) => !isSuspect(deathsAt(index)));
  // A suspect may end the worker, so calls that may be innocent are made first.
  const suspects = fresh.filter((index) => isSuspect(deathsAt(index))).sort(byDeathsAlone(deathsAt));
  await runFresh(session, calls, safe);
  for (const index of suspects) {
    const stop = await callInTurn(session, deathsAt(index), async () => {
      await runFresh(session, calls, [index]);
      return null;
    });
    if (stop) return stop;
  }
  return runSubAgents(session, calls, indexes.filter(isHanded));
}

function byDeathsAlone(deathsAt: (index: number) => Deaths): (a: number, b: number) => number {
  return (a, b) => deathsAt(a).alone - deathsAt(b).alone;
}

/** Positions of the calls without a result: those that need approval, or the others. */
function unanswered(session: Session, { calls, results }: TurnCalls, gated: boolean): number[] {
  return calls.flatMap((call, index) => {
    const tool = session.tools.get(call.name);
    return tool && results[index] === null && isGated(session.agent.approve, tool) === gated ? [index] : [];
  });
}

/** The result of a call if it is known without making it: the journal has its end, or the call is invalid. */
function knownResult(session: Session, turn: number, call: ToolCall, number: number): ToolResult | null {
  const row = session.journal.get(journalKey(turn, number));
  if (row && row.state !== 'started') return stored(call, row);
  const fault = checkCall(session, call);
  if (fault !== null && !row?.acts) {
    refuseCall(session, turn, number, { call, why: fault, isError: true });
    return { callId: call.id, name: call.name, text: fault, isError: true };
  }
  if (!row) return null;
  if (!row.acts) return null;
  // A delegated call is still active, or its child run has the result.
  if (call.name === RUN_AGENT) return null;
  interrupt(session, turn, number, { call, acts: true });
  return { callId: call.id, name: call.name, text: INTERRUPTED, isError: true };
}

/** Only a call that will be made again can end a worker again, so other calls have no deaths. */
async function deathsOf(session: Session, turn: number, call: ToolCall, number: number): Promise<Deaths> {
  const row = session.journal.get(journalKey(turn, number));
  return row?.acts ? NO_DEATHS : readDeaths(session.lane, row, `one call of ${call.name}`);
}

/** Records that a call was interrupted; its effects are unknown. */
function interrupt(session: Session, turn: number, number: number, cut: Pick<Finished, 'call' | 'acts'>): void {
  const outcome = { text: INTERRUPTED, isError: true };
  finishCall(session, turn, number, { ...cut, state: 'interrupted', outcome });
  session.lane.writer.event('tool.interrupted', { step: session.step.id, turn, name: cut.call.name });
}

function stored(call: ToolCall, row: JournalCall): ToolResult {
  const result = isRecord(row.result) ? row.result : {};
  return { callId: call.id, name: call.name, text: String(result.text ?? ''), isError: result.isError === true };
}

async function runFresh(
  session: Session,
  { turn, calls, results, deaths }: TurnCalls,
  fresh: readonly number[],
): Promise<void> {
  if (fresh.length === 0) return;
  const { lane, step } = session;
  const { run: slot } = createSemaphore({ permits: PARALLEL_CALLS });
  const { run: programSlot } = createSemaphore({ permits: PARALLEL_PROGRAMS });
  for (const index of fresh) {
    const call = calls[index];
    const tool = call && session.tools.get(call.name);
    if (!call || !tool) continue;
    const mark = startMark(lane.deps, deaths[index] ?? NO_DEATHS);
    startCall(session, turn, index + 1, { call, acts: tool.acts(call.args ?? {}), names: namesOf(tool), mark });
  }
  await lane.writer.flush();
  failpoint('tool-started');
  let left = fresh.length;
  const ends = await Promise.allSettled(
    fresh.map(async (index) => {
      const call = calls[index];
      const tool = call && session.tools.get(call.name);
      if (!call || !tool) return;
      const began = lane.deps.clock.now();
      const make = () => makeCall(session, { tool, call, turn, number: index + 1 });
      const outcome = await slot(() => (tool.program ? programSlot(make) : make()));
      const acts = tool.acts(call.args ?? {});
      const files = acts || outcome.left ? await storeFiles(session) : [];
      failpoint('tool-done');
      results[index] = { callId: call.id, name: call.name, text: outcome.text, isError: outcome.isError };
      finishCall(session, turn, index + 1, { call, acts, state: 'finished', outcome });
      lane.writer.event('tool.finished', {
        step: step.id,
        item: session.state.item,
        round: session.state.round,
        turn,
        ...namesOf(tool),
        ms: lane.deps.clock.now() - began,
        isError: outcome.isError,
        preview: preview(outcome.text),
        ...outcome.detail,
      });
      // Write the files' events after the call's event.
      recordFileEvents(session, files);
      if (outcome.memoryWrite !== undefined) recordMemoryEvent(session, outcome.memoryWrite);
      left -= 1;
      // The next write of the step includes the last call, which saves one write.
      if (left > 0) await lane.writer.flush();
    }),
  );
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed === undefined) return;
  // No later attempt reads this attempt's journal, so record the calls here that the step's timeout cut.
  const open = session.timedOut() ? fresh.filter((index) => results[index] === null) : [];
  for (const index of open) {
    const call = calls[index];
    const tool = call && session.tools.get(call.name);
    if (tool) interrupt(session, turn, index + 1, { call, acts: tool.acts(call.args ?? {}) });
  }
  throw failed.reason;
}

function recordMemoryEvent({ lane, step, state }: Session, path: string): void {
  lane.writer.batch.memory.push(path);
  lane.writer.event('memory.written', { step: step.id, item: state.item, round: state.round, path });
}

/** `name` is the model's; `tool` is the name in files, if it differs. */
function namesOf({ ref, spec: { name } }: AgentTool): { readonly name: string; readonly tool?: string } {
  return ref === name ? { name } : { name, tool: ref };
}
