import type { AgentPlan, StepPlan } from '../../format/model.js';
import type { ChatMessage, ResolvedModel, ToolCall, ToolResult, ToolSpec } from '../../models/contract.js';
import type { AgentTool, LaneFolder, ToolContext } from '../../tools/contract.js';
import type { JournalCall } from '../journal/claim.js';
import type { Lane, StepState } from '../lane/lane.js';
import type { Past } from './compaction/marker.js';
import type { Deaths } from './deaths.js';

/** One attempt of an agent at a step, in this process. */
export interface Session {
  readonly lane: Lane;
  readonly step: StepPlan;
  readonly state: StepState;
  readonly agent: AgentPlan;
  readonly models: readonly ResolvedModel[];
  /** Every callable tool, by the model's name for it. */
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** The tools in the prompt; the model finds others with `find_tool`. */
  readonly listed: readonly ToolSpec[];
  /** The lane's folder, restored from storage at the step's first tool, since a step without tools needs none. */
  readonly folder: () => Promise<LaneFolder>;
  readonly hasFolder: () => boolean;
  readonly context: ToolContext;
  /** Calls of this attempt by `<turn>.<call>`. */
  readonly journal: Map<string, JournalCall>;
  /** Its model calls that an earlier advance started and that have no end yet. */
  readonly cut: Set<JournalCall>;
  /** The purpose of its model calls: the step's next turn, or the summary that makes room for it. */
  readonly purpose: 'turn' | 'summary';
  /** The transcript as the model gets it, after the opening prompt. */
  readonly messages: Entry[];
  /** What a compaction has removed from it. */
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
  /** When the active time of the step or its agent is over (epoch ms); null when neither is limited. */
  readonly endsAt: number | null;
}

/**
 * A message of the transcript. `why` marks messages of the engine, so that they can be counted. `cut` marks an answer
 * that the provider ended for its length. `filtered` names the model whose provider withheld an answer. `used` is the
 * provider's token count up to and with an answer, and `seq` the number of its row.
 */
export type Entry = ChatMessage & {
  readonly why?: 'repair' | 'nudge' | 'compacted';
  readonly cut?: boolean;
  readonly filtered?: string;
  readonly used?: number;
  readonly seq?: number;
};

/** The number of a model's call among those of its turn; tool calls count from 1. */
const MODEL_CALL = { turn: 0, summary: -1 } as const satisfies Record<Session['purpose'], number>;

export function modelCall(session: Session): number {
  return MODEL_CALL[session.purpose];
}

/** The calls of one turn, `call_tool` replaced by its target, and the known results, by position. */
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

/** Number of completed turns: the model's answers so far, those in a summary included. */
export function turnsOf({ messages, past }: Pick<Session, 'messages' | 'past'>): number {
  return messages.reduce((count, message) => count + (message.role === 'assistant' ? 1 : 0), past.turns);
}

/** Adds a message to the transcript and to the next write. A summary's answer is not a message. */
export function addMessage(session: Session, message: Entry): void {
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
    content,
  });
  messages.push({ ...message, seq });
}
