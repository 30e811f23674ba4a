import type { ChatMessage, ResolvedModel, ToolCall, ToolResult } from '../../models/contract.js';
import type { AgentTool, LaneFolder, ToolContext } from '../../tools/contract.js';
import type { AgentPlan, StepPlan } from '../../workspace/model.js';
import type { CallRow } from '../journal/claim.js';
import type { Lane, StepState } from '../lane/lane.js';

/** One attempt of an agent at a step, while this process has it in hand. */
export interface Session {
  readonly lane: Lane;
  readonly step: StepPlan;
  readonly state: StepState;
  readonly agent: AgentPlan;
  readonly models: readonly ResolvedModel[];
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly folder: LaneFolder;
  readonly context: ToolContext;
  /** Calls of this attempt by `<turn>.<call>`. */
  readonly journal: Map<string, CallRow>;
  /** The stored transcript: what follows the opening prompt. */
  readonly messages: Entry[];
  readonly system: string;
  readonly opening: string;
  readonly script: string | null;
  readonly seen: Map<string, string>;
  /** Aborted with the lane, or when the step's active time is over. */
  readonly signal: AbortSignal;
  readonly timedOut: () => boolean;
}

/**
 * A message of the transcript; `why` marks those that the engine says, so that they can be counted, and `cut` an
 * answer that the provider ended for its length.
 */
export type Entry = ChatMessage & { readonly why?: 'repair' | 'nudge'; readonly cut?: boolean };

/** The calls of one turn and what is known of their results, by position. */
export interface TurnCalls {
  readonly turn: number;
  readonly calls: readonly ToolCall[];
  readonly results: (ToolResult | null)[];
}

export function journalKey(turn: number, call: number): string {
  return `${turn}.${call}`;
}

export function callKey(session: Session, turn: number, call: number) {
  const { state } = session;
  return { step: state.id, item: state.item, round: state.round, attempt: state.attempts, epoch: 0, turn, call };
}

/** Turns that are over: the model's answers so far. */
export function turnsOf(session: Session): number {
  return session.messages.filter((message) => message.role === 'assistant').length;
}

/** Puts a message into the transcript and into the next write. */
export function say(session: Session, message: Entry): void {
  const { lane, state, messages } = session;
  const { role, ...content } = message;
  lane.writer.batch.messages.push({
    step: state.id,
    item: state.item,
    round: state.round,
    attempt: state.attempts,
    epoch: 0,
    seq: messages.length,
    role,
    content: content as never,
  });
  messages.push(message);
}
