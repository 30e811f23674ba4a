import { APICallError, JSONParseError, TypeValidationError } from '@ai-sdk/provider';
import { errorMessage } from '../../shared/refusal.js';
import type { GivenUp } from '../calling/silence.js';
import { ModelError, type ModelErrorKind } from '../contract.js';
import { classifyStatus, classifyWords, isOurFault } from './classify.js';
import { noConnection } from './no-connection.js';
import { providerWords } from './provider-words.js';
import { retryAfterMs } from './retry-after.js';

export interface FailedCall {
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
