import { createHash } from 'node:crypto';
import type { ToolCall } from '../../models/contract.js';
import { DatabaseUnavailable } from '../../platform/db/index.js';
import { errorMessage } from '../../shared/refusal.js';
import type { AgentTool, ToolOutcome } from '../../tools/contract.js';
import { Ended, Fenced } from '../errors.js';
import { liveOutput } from './live-output.js';
import { callKey, type Session } from './session.js';

const RESULT_CHARACTERS = 30_000;

export interface ToolInHand {
  readonly tool: AgentTool;
  /** The tool that is actually called, never `call_tool`. */
  readonly call: ToolCall;
  readonly turn: number;
  readonly number: number;
}

/**
 * Makes one tool call of any kind; no tool call bypasses this function. `tool.ref` is the tool's name in files,
 * `tool.operation`.
 */
export async function makeCall(session: Session, { tool, call, turn, number }: ToolInHand): Promise<ToolOutcome> {
  const live = liveOutput(session, { turn, call: number });
  try {
    await session.folder();
    const { onOutput, emit } = live;
    const context = { ...session.context, onOutput, emit, callKey: stableKey(session, turn, number) };
    const outcome = await tool.run(call.args ?? {}, context);
    return { ...outcome, text: middleCut(outcome.text) };
  } catch (error) {
    // A stop, a takeover or a timeout is not a result of the tool.
    if (session.signal.aborted || error instanceof Fenced || error instanceof Ended) throw error;
    // An unavailable database is not one either: the call is interrupted, and the next attempt reports it.
    if (error instanceof DatabaseUnavailable) throw error;
    session.lane.deps.log.warn({ err: error, tool: tool.spec.name, run: session.lane.run.id }, 'a tool failed');
    return {
      text: session.lane.mask.text(`${tool.spec.name} failed: ${errorMessage(error)}`),
      isError: true,
    };
  } finally {
    await live.end();
  }
}

/** Derived from the call's place in the run, so that a replay of the journal has the same key. */
function stableKey(session: Session, turn: number, number: number): string {
  const { run, name } = session.lane;
  const place = [run.id, name, ...Object.values(callKey(session, turn, number))];
  return createHash('sha256').update(JSON.stringify(place)).digest('hex').slice(0, 40);
}

/** Cuts a result over the limit in the middle. Tools with long results also save them whole. */
function middleCut(text: string): string {
  if (text.length <= RESULT_CHARACTERS) return text;
  const half = RESULT_CHARACTERS / 2;
  return `${text.slice(0, half)}\n[… ${text.length - RESULT_CHARACTERS} characters cut …]\n${text.slice(-half)}`;
}
