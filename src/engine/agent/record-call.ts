import type { ToolCall } from '../../models/contract.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import type { ToolOutcome } from '../../tools/contract.js';
import type { StartMark } from './deaths.js';
import { callKey, type Session } from './session.js';

const PREVIEW_CHARACTERS = 500;

interface Started {
  readonly call: ToolCall;
  readonly acts: boolean;
  /** The child run of a `run_agent` call. */
  readonly child?: string;
}

interface Names {
  /** The model's name for the tool. */
  readonly name: string;
  /** The tool's name in files, if it differs. */
  readonly tool?: string;
}

export interface Finished extends Started {
  readonly state: 'finished' | 'interrupted';
  readonly outcome: ToolOutcome;
}

export interface Refused {
  readonly call: ToolCall;
  readonly why: string;
  /** True if the model gets the result as an error. */
  readonly isError: boolean;
}

/** Adds the start of a tool call, and its event, to the next write. */
export function startCall(
  session: Session,
  turn: number,
  number: number,
  {
    call,
    acts,
    child,
    mark,
    names = { name: call.name },
  }: Started & { readonly names?: Names; readonly mark?: StartMark },
): void {
  const { lane, step, state } = session;
  const args = preview(toJson(call.args));
  lane.writer.batch.calls.push({
    ...callKey(session, turn, number),
    kind: 'tool',
    name: call.name,
    acts,
    state: 'started',
    result: { args, ...mark, ...(child === undefined ? {} : { child }) } as unknown as Json,
  });
  const { item, round } = state;
  const data = { step: step.id, item, round, turn, ...names, args };
  lane.writer.event('tool.started', child === undefined ? data : { ...data, runId: child });
}

/** Adds the end of a tool call to the next write. */
export function finishCall(session: Session, turn: number, number: number, end: Finished): void {
  const { call, acts, state, child, outcome } = end;
  const { text, isError, seen = [] } = outcome;
  const args = preview(toJson(call.args));
  session.lane.writer.batch.calls.push({
    ...callKey(session, turn, number),
    kind: 'tool',
    name: call.name,
    acts,
    state,
    result: { args, text, isError, seen, ...(child === undefined ? {} : { child }) } as unknown as Json,
  });
  for (const file of seen) session.seen.set(file.path, file.sha);
}

export function preview(text: string): string {
  return text.length <= PREVIEW_CHARACTERS ? text : `${text.slice(0, PREVIEW_CHARACTERS)}…`;
}

/** Records that a call is not made, with the reason. It is recorded once, even if the turn is processed again. */
export function refuseCall(session: Session, turn: number, number: number, refused: Refused): void {
  const { call, why, isError } = refused;
  const { lane, step, state } = session;
  const args = preview(JSON.stringify(call.args) ?? '');
  lane.writer.batch.calls.push({
    ...callKey(session, turn, number),
    kind: 'tool',
    name: call.name,
    acts: false,
    state: 'refused',
    result: { args, text: why, isError },
  });
  const { item, round } = state;
  lane.writer.event('tool.refused', { step: step.id, item, round, turn, name: call.name, args, error: preview(why) });
}
