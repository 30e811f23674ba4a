import { APICallError, JSONParseError, TypeValidationError } from '@ai-sdk/provider';
import { errorMessage } from '../../shared/refusal.js';
import { ModelError, type ModelErrorKind } from '../contract.js';
import { classifyStatus, classifyWords } from './classify.js';
import { noConnection } from './no-connection.js';
import { providerWords } from './provider-words.js';
import { retryAfterMs } from './retry-after.js';

export interface FailedCall {
  /** What people know the provider by, at the start of the sentence. */
  readonly provider: string;
  /** The key, which no message may carry. */
  readonly key: string;
  readonly nowMs: number;
  /** The caller's stop; anything thrown after it is that. */
  readonly stopped: boolean;
  /** Seconds of silence after which the call was given up; null when it was not. */
  readonly silentSeconds: number | null;
}

/** Whatever a call threw, as a ModelError with the provider's words (design: runs.md 3.7). */
export function toModelError(error: unknown, call: FailedCall): ModelError {
  if (call.stopped) return new ModelError('aborted', 'the call was stopped');
  if (call.silentSeconds !== null) {
    return new ModelError('transient', `${call.provider} sent nothing for ${call.silentSeconds} s`);
  }
  const { kind, text, wait } = read(error, call);
  return new ModelError(kind, redact(text, call.key), wait ?? null);
}

interface Reading {
  readonly kind: ModelErrorKind;
  readonly text: string;
  readonly wait?: number | null;
}

function read(error: unknown, call: FailedCall): Reading {
  const { provider } = call;
  if (error instanceof ModelError) {
    return { kind: error.kind, text: `${provider}: ${error.message}`, wait: error.retryAfterMs };
  }
  const disconnected = noConnection(error);
  if (disconnected !== null) return { kind: 'transient', text: `${provider} ${disconnected}` };
  if (APICallError.isInstance(error)) return readAnswer(error, call);
  if (JSONParseError.isInstance(error)) {
    return { kind: 'transient', text: `${provider} sent what is no JSON: ${error.text.slice(0, 200)}` };
  }
  if (TypeValidationError.isInstance(error)) return readChunk(error, call);
  if (error instanceof Error) return { kind: 'transient', text: `${provider}: ${error.message}` };
  return readEvent(error, call);
}

/** An answer with an error status; or a 200 that the SDK could not use, whose reason is in its cause. */
function readAnswer(error: APICallError, call: FailedCall): Reading {
  const { statusCode, responseBody = '', responseHeaders = {} } = error;
  if (statusCode === undefined || statusCode < 400) {
    if (error.cause !== undefined) return read(error.cause, call);
    return { kind: 'transient', text: `${call.provider}: ${error.message}` };
  }
  const words = providerWords(responseBody);
  const said = words.text || error.message || 'nothing';
  return {
    kind: classifyStatus(statusCode, words),
    text: `${call.provider} answered ${statusCode}: ${said}`,
    wait: retryAfterMs(responseHeaders, responseBody, call.nowMs),
  };
}

/** A chunk of a shape the SDK does not know: an error in the provider's own way, or garbage. */
function readChunk(error: TypeValidationError, call: FailedCall): Reading {
  const words = providerWords(error.value);
  if (words.text !== '' || words.labels !== '') return readEvent(error.value, call);
  const chunk = JSON.stringify(error.value)?.slice(0, 200);
  return { kind: 'transient', text: `${call.provider} sent JSON of another shape: ${chunk}` };
}

/** An error told within the stream. */
function readEvent(event: unknown, call: FailedCall): Reading {
  const words = providerWords(event);
  const body = typeof event === 'string' ? event : (JSON.stringify(event) ?? '');
  return {
    kind: classifyWords(words),
    text: `${call.provider} broke off: ${words.text || words.labels || errorMessage(event)}`,
    wait: retryAfterMs({}, body, call.nowMs),
  };
}

/** Without the key, and without credentials that a base URL carried. */
function redact(message: string, key: string): string {
  const text = message.replace(/\/\/[^/\s@]+@/g, '//');
  if (key.length < 4) return text;
  return [key, encodeURIComponent(key)].reduce((rest, form) => rest.replaceAll(form, '[key]'), text);
}
