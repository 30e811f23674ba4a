import type { ChatMessage, ResolvedModel, ToolCall, ToolResult, ToolSpec } from '../../models/contract.js';
import type { AgentTool, LaneFolder, ToolContext } from '../../tools/contract.js';
import type { AgentPlan, StepPlan } from '../../workspace/model.js';
import type { CallRow } from '../journal/claim.js';
import type { Lane, StepState } from '../lane/lane.js';
import type { Past } from './compaction/marker.js';
import type { Deaths } from './deaths.js';

/** One attempt of an agent at a step, while this process has it in hand. */
export interface Session {
  readonly lane: Lane;
  readonly step: StepPlan;
  readonly state: StepState;
  readonly agent: AgentPlan;
  readonly models: readonly ResolvedModel[];
  /** Every tool that may be called, by the name that the model has. */
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** Those that the model is shown; the others it finds with `find_tool`. */
  readonly listed: readonly ToolSpec[];
  /** The lane's folder, brought to what is stored: at the step's first tool, since a step without one needs none. */
  readonly folder: () => Promise<LaneFolder>;
  readonly hasFolder: () => boolean;
  readonly context: ToolContext;
  /** Calls of this attempt by `<turn>.<call>`. */
  readonly journal: Map<string, CallRow>;
  /** Its model calls that an earlier advance began and that have no end yet. */
  readonly cut: Set<CallRow>;
  /** What its model calls are for: the step's next turn, or the summary that makes room for it. */
  readonly purpose: 'turn' | 'summary';
  /** The transcript as the model gets it: what follows the opening prompt. */
  readonly messages: Entry[];
  /** What a compaction has taken out of it. */
  past: Past;
  /** The number of the transcript's next row, over all its epochs. */
  nextSeq: number;
  readonly system: string;
  readonly opening: string;
  readonly script: string | null;
  readonly seen: Map<string, string>;
  /** Aborted with the lane, or when the step's active time is over. */
  readonly signal: AbortSignal;
  readonly timedOut: () => boolean;
  /** When the step's own active time, or its agent's, is over (epoch ms); null when neither is bounded. */
  readonly endsAt: number | null;
}

/**
 * A message of the transcript; `why` marks those that the engine says, so that they can be counted, and `cut` an
 * answer that the provider ended for its length; `filtered` names the model whose provider withheld an answer. `used` is what the provider counted up to and with an answer, in
 * tokens, and `seq` the number of its row.
 */
export type Entry = ChatMessage & {
  readonly why?: 'repair' | 'nudge' | 'compacted';
  readonly cut?: boolean;
  readonly filtered?: string;
  readonly used?: number;
  readonly seq?: number;
};

/** The number of a model's call among those of its turn, whose tools count from 1. */
const MODEL_CALL = { turn: 0, summary: -1 } as const satisfies Record<Session['purpose'], number>;

export function modelCall(session: Session): number {
  return MODEL_CALL[session.purpose];
}

/** The calls of one turn, `call_tool` replaced by what it calls, and what is known of their results, by position. */
export interface TurnCalls {
  readonly turn: number;
  readonly calls: readonly ToolCall[];
  readonly results: (ToolResult | null)[];
  /** How often the worker died during each of them. */
  readonly deaths: readonly Deaths[];
}

export function journalKey(turn: number, call: number): string {
  return `${turn}.${call}`;
}

export function callKey(session: Session, turn: number, call: number) {
  const { state, past } = session;
  return {
    step: state.id,
    item: state.item,
    round: state.round,
    attempt: state.attempts,
    epoch: past.epoch,
    turn,
    call,
  };
}

/** Turns that are over: the model's answers so far, those that are in a summary among them. */
export function turnsOf({ messages, past }: Pick<Session, 'messages' | 'past'>): number {
  return messages.reduce((count, message) => count + (message.role === 'assistant' ? 1 : 0), past.turns);
}

/** Puts a message into the transcript and into the next write. A summary's answer is no message of it. */
export function say(session: Session, message: Entry): void {
  const { lane, state, messages, past } = session;
  if (session.purpose === 'summary') {
    messages.push(message);
    return;
  }
  const { role, ...content } = message;
  const seq = session.nextSeq;
  session.nextSeq += 1;
  lane.writer.batch.messages.push({
    step: state.id,
    item: state.item,
    round: state.round,
    attempt: state.attempts,
    epoch: past.epoch,
    seq,
    role,
    content: content as never,
  });
  messages.push({ ...message, seq });
}
