import { ModelError } from '../contract.js';

const MIB = 1_048_576;

/** Maximum size of one answer, in bytes after decompression. */
export interface AnswerLimits {
  /** Of the whole stream, with the overhead that the wire format adds to each token. */
  readonly wire: number;
  /** Of text, reasoning and arguments together. */
  readonly content: number;
}

/** Used where neither the operator nor the price table knows the model's context. */
const UNKNOWN: AnswerLimits = { wire: 16 * MIB, content: 8 * MIB };
/** A token is about 4 bytes of text, and a few hundred with its event. */
const CONTENT_PER_TOKEN = 16;
const WIRE_PER_TOKEN = 512;

/** Limit of one event, which may contain the whole answer again. */
export const MAX_EVENT_BYTES = 4 * MIB;
/** Limit of an answer that is not a stream: an error, or a page. */
export const MAX_PAGE_BYTES = MIB;

/** An answer has at most as many tokens as its model's context. */
export function answerLimits(contextTokens: number | null): AnswerLimits {
  if (contextTokens === null) return UNKNOWN;
  return {
    wire: clamp(contextTokens * WIRE_PER_TOKEN, 2 * MIB, 64 * MIB),
    content: clamp(contextTokens * CONTENT_PER_TOKEN, MIB / 4, UNKNOWN.content),
  };
}

/** Not transient: a repeated call would get the same answer. */
export function tooLarge(what: string, bytes: number): ModelError {
  const size = bytes < MIB ? `${Math.round(bytes / 1_024)} KiB` : `${Math.round((bytes / MIB) * 10) / 10} MiB`;
  const brief = `sent ${what} larger than ${size}`;
  return new ModelError('refused', `it ${brief}, and the call was given up`, { brief });
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
