import type { Session } from '../session.js';

/**
 * A cautious estimate: three ASCII characters a token, which few texts exceed, and a token for each other character.
 */
const ASCII_A_TOKEN = 3;

export function guessTokens(text: string): number {
  const others = text.match(/[\u0080-\uffff]/g)?.length ?? 0;
  return Math.ceil((text.length - others) / ASCII_A_TOKEN) + others;
}

const sizes = new WeakMap<object, number>();

/** A message's size in the context, as sent. Computed once: the cost of a turn must not grow with the transcript. */
export function sizeOf(message: object): number {
  const known = sizes.get(message);
  if (known !== undefined) return known;
  const size = guessTokens(JSON.stringify(message));
  sizes.set(message, size);
  return size;
}

const fixed = new WeakMap<Session, number>();

/** The part of every call besides the transcript: the system prompt, the opening, the tools. */
export function fixedTokens(session: Session): number {
  const known = fixed.get(session);
  if (known !== undefined) return known;
  const tools = JSON.stringify(session.listed);
  const size = guessTokens(session.system) + guessTokens(session.opening) + guessTokens(tools);
  fixed.set(session, size);
  return size;
}

/** The estimate for a whole call: cautious, so that the reservation is enough. */
export function guessContext(session: Session): number {
  return fixedTokens(session) + session.messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

/**
 * The size of the next call's context: the provider's last count, and an estimate for later messages. `factor` is the
 * ratio of its counts to the estimates.
 */
export function measureContext(session: Session): { readonly tokens: number; readonly factor: number } {
  const { messages, past } = session;
  const at = messages.findLastIndex(
    (message) => message.role === 'assistant' && message.used !== undefined && (message.seq ?? 0) > past.since,
  );
  const guess = guessContext(session);
  const last = messages[at];
  if (last?.role !== 'assistant' || last.used === undefined) {
    return { tokens: Math.ceil(guess * past.factor), factor: past.factor };
  }
  const newer = messages.slice(at + 1).reduce((sum, message) => sum + sizeOf(message), 0);
  const factor = Math.min(4, Math.max(0.25, last.used / Math.max(1, guess - newer)));
  return { tokens: Math.ceil(last.used + newer * Math.max(1, factor)), factor };
}
