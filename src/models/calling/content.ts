import type { LanguageModelV3StreamPart, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import { parseJson } from '../../shared/exact-json.js';
import { isRecord, type JsonObject } from '../../shared/json.js';
import { jsonShapeFault } from '../../shared/json-shape.js';
import type { ModelRequest, ToolCall } from '../contract.js';

/** The tags that begin an answer of models that put reasoning into their text. */
const OPEN = /^\s*<(think|thinking|thought|reasoning)>/i;

/** A text that more input may complete to an open tag. */
const MAYBE_OPEN = /^\s*(<[a-z]{0,9})?$/i;

/** White space at the start of an answer is held back up to this length; a model may stream nothing else. */
const MOST_BEFORE_OPEN = 1_024;

const LONGEST_CLOSE = '</reasoning>'.length;

/** A close tag alone on its line: some servers leave out the open tag, which is part of their prompt. */
const LONE_CLOSE = /(?:^|\n)[ \t]*<\/think>[ \t]*(?:\n\s*|$)/i;

/**
 * One part of an answer as the provider built it, with the metadata that it expects back. A `thought` is reasoning
 * within the text: it is stored for people, and not sent back.
 */
export type ReplyPart =
  | {
      readonly type: 'text' | 'reasoning' | 'thought';
      text: string;
      metadata: SharedV3ProviderMetadata | undefined;
    }
  | { readonly type: 'call'; readonly id: string; readonly metadata: SharedV3ProviderMetadata | undefined };

export interface ReplyContent {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** In the order in which they began. */
  readonly parts: readonly ReplyPart[];
}

type Block = Extract<ReplyPart, { text: string }>;

/** Assembles an answer from the parts of its stream. `onDelta` gets each piece of text that is not reasoning. */
export function createContent(onDelta: ModelRequest['onDelta']) {
  const calls: ToolCall[] = [];
  const parts: ReplyPart[] = [];
  const open = new Map<string, Block>();
  const thoughts = createThoughtFilter();
  const thought: Block = { type: 'thought', text: '', metadata: undefined };
  const openBlock = (type: Block['type'], id: string): Block => {
    const block: Block = { type, text: '', metadata: undefined };
    parts.push(block);
    open.set(`${type} ${id}`, block);
    return block;
  };
  const addText = (block: Block, sorted: Sorted): void => {
    thought.text += sorted.thought;
    block.text += sorted.text;
    if (sorted.text !== '') onDelta?.(sorted.text);
  };
  const add = (part: LanguageModelV3StreamPart): void => {
    if (part.type === 'tool-call') {
      calls.push(toCall(part));
      parts.push({ type: 'call', id: part.toolCallId, metadata: part.providerMetadata });
      return;
    }
    const [type, stage] = part.type.split('-');
    if ((type !== 'text' && type !== 'reasoning') || !('id' in part)) return;
    const block = (stage === 'start' ? undefined : open.get(`${type} ${part.id}`)) ?? openBlock(type, part.id);
    // Later metadata replaces earlier: signatures come at the end of a block.
    if ('providerMetadata' in part) block.metadata = part.providerMetadata ?? block.metadata;
    if (!('delta' in part)) return;
    if (type === 'text') addText(block, thoughts.push(part.delta));
    else block.text += part.delta;
  };
  const end = (): ReplyContent => {
    const texts = parts.filter((part): part is Block => part.type === 'text');
    const last = texts.at(-1);
    if (last) addText(last, thoughts.end());
    const [first] = texts;
    const split = first && thought.text === '' ? splitLoneClose(first.text) : null;
    if (first && split) {
      first.text = split.text;
      thought.text = split.thought;
    }
    const all = thought.text === '' ? parts : [thought, ...parts];
    return { text: texts.map((block) => block.text).join(''), calls, parts: all };
  };
  return { add, end };
}

/** Arguments of at least this many characters are checked before they are parsed. */
const LARGE = 65_536;

function toCall({ toolCallId, toolName, input }: Extract<LanguageModelV3StreamPart, { type: 'tool-call' }>): ToolCall {
  const named = { id: toolCallId, name: toolName };
  try {
    const isSafe = input.length <= LARGE || jsonShapeFault(input) === null;
    const args: unknown = input.trim() === '' ? {} : isSafe && parseJson(input);
    if (isRecord(args)) return { ...named, args: args as JsonObject };
  } catch {
    // Invalid JSON stays in `raw`: the model gets an error for this call.
  }
  return { ...named, args: null, raw: input };
}

interface Sorted {
  readonly thought: string;
  readonly text: string;
}

/** Separates reasoning in tags at the beginning of an answer from the answer, while its text streams. */
function createThoughtFilter() {
  let held = '';
  let state: 'start' | 'thought' | 'text' = 'start';
  let close = /$/;
  let hadThought = false;
  const cut = (length: number): string => {
    const part = held.slice(0, length);
    held = held.slice(length);
    return part;
  };
  /** Determines what begins here; false while it may still be either. */
  const detectTag = (): boolean => {
    const beginning = held.slice(0, MOST_BEFORE_OPEN);
    const [tag, name] = OPEN.exec(beginning) ?? [];
    if (tag === undefined && held.length < MOST_BEFORE_OPEN && MAYBE_OPEN.test(beginning)) return false;
    state = tag === undefined ? 'text' : 'thought';
    if (tag === undefined) held = hadThought ? held.trimStart() : held;
    else cut(tag.length);
    hadThought ||= tag !== undefined;
    close = new RegExp(`</${name}>`, 'i');
    return true;
  };
  /** Consumes the next piece of reasoning. */
  const think = (): string => {
    const end = close.exec(held);
    // The end of the held text may be the first part of the close tag.
    if (!end) return cut(Math.max(0, held.length - LONGEST_CLOSE));
    const thought = cut(end.index);
    cut(end[0].length);
    state = 'start';
    return thought;
  };
  return {
    push(text: string): Sorted {
      held += text;
      let thought = '';
      do {
        if (state === 'start' && !detectTag()) break;
        if (state === 'thought') thought += think();
      } while (state === 'start');
      return { thought, text: state === 'text' ? cut(held.length) : '' };
    },
    /** The rest of the text when the answer ends. Unclosed reasoning is reasoning. */
    end(): Sorted {
      if (state === 'thought') return { thought: cut(held.length), text: '' };
      return { thought: '', text: hadThought ? cut(held.length).trimStart() : cut(held.length) };
    },
  };
}

/** Reasoning whose open tag is missing; null when all of the text is the answer. */
function splitLoneClose(text: string): Sorted | null {
  const close = LONE_CLOSE.exec(text);
  if (!close || /<think>/i.test(text.slice(0, close.index))) return null;
  return { thought: text.slice(0, close.index), text: text.slice(close.index + close[0].length) };
}
