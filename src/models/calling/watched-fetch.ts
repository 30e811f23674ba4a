import { unmark } from '../../shared/exact-json.js';
import { ModelError } from '../contract.js';
import { classifyStatus, classifyWords, isOurFault } from '../failing/classify.js';
import { isPage, providerWords } from '../failing/provider-words.js';
import { eventStream, type StreamWatch } from '../wire/event-stream.js';
import { MAX_PAGE_BYTES, tooLarge } from '../wire/limits.js';
import { readPage } from '../wire/read-page.js';

const PEEK = 10_000;

/**
 * `fetch` for a streamed call. It limits the answer's size, reports each event to the silence watch, follows no
 * redirect, since the key would go along, and turns an answer that is not a stream into an error.
 */
function watchedFetch(watch: StreamWatch): typeof fetch {
  return async (input, init) => {
    const sent = typeof init?.body === 'string' ? { body: unmark(init.body) } : {};
    const response = await fetch(input, { ...init, ...sent, redirect: 'manual' });
    watch.silence.noteContent();
    const { status, headers, body } = response;
    if (status >= 300 && status < 400) {
      const target = headers.get('location') ?? 'nowhere';
      await body?.cancel();
      throw new ModelError('refused', `it redirects to ${target}: set that as the base URL if you trust it`);
    }
    // Only types that are never a stream: several servers send events under a type of their own.
    const isPageType = /\/(json|html)/i.test(headers.get('content-type') ?? '');
    if (response.ok && !isPageType) return new Response(body && eventStream(body, watch), response);
    const page = await readPage(body, MAX_PAGE_BYTES);
    if (page === null) throw tooLarge(`a page (status ${status})`, MAX_PAGE_BYTES);
    if (response.ok) return refuseAnswer(page.slice(0, PEEK));
    return new Response(page, response);
  };
}

/**
 * Keyed by the call's signal, which the SDK passes on. So one model object serves many calls, each with its own watch.
 */
const watched = new WeakMap<AbortSignal, typeof fetch>();

export function watchCall(signal: AbortSignal, watch: StreamWatch): AbortSignal {
  watched.set(signal, watchedFetch(watch));
  return signal;
}

export const fetchOfCall: typeof fetch = (input, init) => {
  const own = init?.signal ? watched.get(init.signal) : undefined;
  if (!own) throw new Error('a request to a model was made outside of a call');
  return own(input, init);
};

/** A 200 with another type than an event stream: an error in JSON, a web page, or empty. */
function refuseAnswer(body: string): never {
  if (body.trim() === '') throw new ModelError('transient', 'the answer was empty', { brief: 'answered nothing' });
  const words = providerWords(body);
  if (isPage(body)) throw new ModelError('refused', `it answered with ${words.text}. Is the base URL right?`);
  if (words.labels === '' && words.status === null) {
    throw new ModelError('refused', `it answered without streaming: ${body.slice(0, 200)}. Is the base URL right?`);
  }
  const kind = words.status === null ? classifyWords(words) : classifyStatus(words.status, words);
  throw new ModelError(kind, words.text || words.labels, {
    ours: isOurFault(null, words),
    brief: 'answered 200 with an error in it',
  });
}
