import { APICallError, JSONParseError, TypeValidationError } from '@ai-sdk/provider';
import { errorMessage } from '../../shared/refusal.js';
import type { GivenUp } from '../calling/silence.js';
import { ModelError, type ModelErrorKind } from '../contract.js';
import { classifyStatus, classifyWords, isOurFault } from './classify.js';
import { providerWords } from './provider-words.js';

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection: is it running, and is the base URL right?',
  ENOTFOUND: 'has no address: is the base URL right?',
  EAI_AGAIN: 'could not be looked up: the name server did not answer',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  UND_ERR_SOCKET: 'closed the connection',
  ETIMEDOUT: 'did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'did not answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'went silent',
  EHOSTUNREACH: 'cannot be reached from here',
  ENETUNREACH: 'cannot be reached from here',
};

const TLS = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_VERIFY/;

const DAY_MS = 86_400_000;

interface FailedCall {
  /** The provider's display name, at the start of the sentence. */
  readonly provider: string;
  /** The key, which no message may contain. */
  readonly key: string;
  readonly nowMs: number;
  /** True if the caller aborted the call: every later error has that cause. */
  readonly stopped: boolean;
  /** Why the silence watch abandoned the call; null when it did not. */
  readonly givenUp: GivenUp | null;
}

/** Converts any error of a call to a ModelError with the provider's text (design: runs.md 3.7). */
export function toModelError(error: unknown, call: FailedCall): ModelError {
  if (call.stopped) return new ModelError('aborted', 'the call was stopped');
  if (call.givenUp !== null) {
    const { kind, brief } = call.givenUp;
    return new ModelError(kind, `${call.provider} ${brief}`, { brief });
  }
  const { kind, text, brief, wait = null, ours = false } = read(error, call);
  return new ModelError(kind, redact(text, call.key), {
    retryAfterMs: wait,
    ours: ours && kind === 'refused',
    brief: redact(brief, call.key),
  });
}

interface Reading {
  readonly kind: ModelErrorKind;
  readonly text: string;
  /** The same without the provider's text, as a predicate. */
  readonly brief: string;
  readonly ours?: boolean;
  readonly wait?: number | null;
}

function read(error: unknown, call: FailedCall): Reading {
  const { provider } = call;
  if (error instanceof ModelError) {
    const { kind, message, brief, retryAfterMs: wait, ours } = error;
    return { kind, text: `${provider}: ${message}`, brief, wait, ours };
  }
  const disconnected = noConnection(error);
  if (disconnected !== null) return { kind: 'transient', text: `${provider} ${disconnected}`, brief: disconnected };
  if (APICallError.isInstance(error)) return readAnswer(error, call);
  // An answer of an unknown shape is likely to come again: it is not retried.
  if (JSONParseError.isInstance(error)) {
    const brief = 'sent what is not JSON';
    return { kind: 'refused', text: `${provider} ${brief}: ${error.text.slice(0, 200)}`, brief };
  }
  if (TypeValidationError.isInstance(error)) return readChunk(error, call);
  if (error instanceof Error) return { kind: 'transient', text: `${provider}: ${error.message}`, brief: 'failed' };
  return readEvent(error, call);
}

/** An answer with an error status; or a 200 that the SDK could not use, whose reason is in its cause. */
function readAnswer(error: APICallError, call: FailedCall): Reading {
  const { statusCode, responseBody = '', responseHeaders = {} } = error;
  if (statusCode === undefined || statusCode < 400) {
    if (error.cause !== undefined) return read(error.cause, call);
    return { kind: 'transient', text: `${call.provider}: ${error.message}`, brief: 'failed' };
  }
  const words = providerWords(responseBody);
  const said = words.text || error.message || 'nothing';
  return {
    kind: classifyStatus(statusCode, words),
    text: `${call.provider} answered ${statusCode}: ${said}`,
    brief: `answered ${statusCode}`,
    ours: isOurFault(statusCode, words),
    wait: retryAfterMs(responseHeaders, responseBody, call.nowMs),
  };
}

/** A chunk of a shape that the SDK does not know: the provider's own form of an error, or garbage. */
function readChunk(error: TypeValidationError, call: FailedCall): Reading {
  const words = providerWords(error.value);
  if (words.text !== '' || words.labels !== '') return readEvent(error.value, call);
  const chunk = JSON.stringify(error.value)?.slice(0, 200);
  const brief = 'sent JSON of another shape';
  return { kind: 'refused', text: `${call.provider} ${brief}: ${chunk}`, brief };
}

/** An error event within the stream. */
function readEvent(event: unknown, call: FailedCall): Reading {
  const words = providerWords(event);
  const body = typeof event === 'string' ? event : (JSON.stringify(event) ?? '');
  return {
    kind: classifyWords(words),
    text: `${call.provider} broke off: ${words.text || words.labels || errorMessage(event)}`,
    brief: 'broke off its answer',
    ours: isOurFault(null, words),
    wait: retryAfterMs({}, body, call.nowMs),
  };
}

/** Removes the key, and the credentials of a base URL. */
function redact(message: string, key: string): string {
  const text = message.replace(/\/\/[^/\s@]+@/g, '//');
  if (key.length < 4) return text;
  return [key, encodeURIComponent(key)].reduce((rest, form) => rest.replaceAll(form, '[key]'), text);
}

/**
 * The wait that a provider asks for, in ms, at most a day; null when it names none. `Retry-After` is seconds or an HTTP
 * date (RFC 9110 10.2.3); OpenAI adds `retry-after-ms`; Google puts a `retryDelay` into the body.
 */
function retryAfterMs(headers: Readonly<Record<string, string>>, body: string, nowMs: number): number | null {
  const asked = fromMs(headers['retry-after-ms']) ?? fromHeader(headers['retry-after'], nowMs) ?? fromBody(body);
  return asked === null ? null : Math.min(DAY_MS, Math.max(0, Math.ceil(asked)));
}

function fromMs(value: string | undefined): number | null {
  return value !== undefined && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

function fromHeader(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const seconds = fromMs(value);
  if (seconds !== null) return seconds * 1_000;
  // `-5` and `soon` are not dates, though Date.parse accepts the first.
  const at = /^[A-Za-z]{3,}/.test(value.trim()) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at - nowMs;
}

function fromBody(body: string): number | null {
  const match = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body);
  return match ? Number(match[1]) * 1_000 : null;
}

/** Why the connection failed or broke, as a predicate of the provider; null for other errors. */
function noConnection(error: unknown): string | null {
  for (const cause of causes(error)) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    const sentence = SENTENCES[code];
    if (sentence !== undefined) return `${sentence} (${code})`;
    if (TLS.test(code)) return `has no certificate that is trusted here: ${cause.message} (${code})`;
    if (cause.message === 'terminated') return 'cut the stream';
  }
  return null;
}

/** An error and its causes, innermost first, since that one is the most specific. */
function causes(error: unknown): Error[] {
  const found: Error[] = [];
  for (let next = error; next instanceof Error && found.length < 10; next = next.cause) {
    found.unshift(next);
    if (next instanceof AggregateError) found.unshift(...next.errors.filter((inner) => inner instanceof Error));
  }
  return found;
}
