import { postToOperatorUrl } from '../../platform/net/index.js';
import { unmark } from '../../shared/exact-json.js';
import { ModelError } from '../contract.js';
import { classifyStatus, classifyWords, isOurFault } from '../failing/classify.js';
import { isPage, providerWords } from '../failing/provider-words.js';
import { eventStream, type StreamWatch } from '../wire/event-stream.js';
import { MAX_PAGE_BYTES, tooLarge } from '../wire/limits.js';
import { readPage } from '../wire/read-page.js';

const PEEK = 10_000;

/** Answers without a body (RFC 9110 15.3). */
const BODILESS = [204, 205];

/**
 * `fetch` for a streamed call. It limits the answer's size, reports each event to the silence watch, follows no
 * redirect, since the key would go along, and turns an answer that is not a stream into an error.
 */
function watchedFetch(watch: StreamWatch, signal: AbortSignal): typeof fetch {
  return async (input, init) => {
    const { status, statusText, headers, body } = await postToOperatorUrl(String(input), {
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: typeof init?.body === 'string' ? unmark(init.body) : '',
      signal,
    });
    watch.silence.noteContent();
    if (status >= 300 && status < 400) {
      const target = headers.get('location') ?? 'nowhere';
      body.cancel();
      throw new ModelError('refused', `it redirects to ${target}: set that as the base URL if you trust it`);
    }
    const ok = status >= 200 && status < 300;
    // Only types that are never a stream: several servers send events under a type of their own.
    const isPageType = /\/(json|html)/i.test(headers.get('content-type') ?? '');
    if (ok && !isPageType) return streamedResponse({ status, statusText, headers, body }, watch);
    const page = await readPage(body, MAX_PAGE_BYTES);
    if (page === null) throw tooLarge(`a page (status ${status})`, MAX_PAGE_BYTES);
    if (ok) return refuseAnswer(page.slice(0, PEEK));
    return new Response(page, { status, statusText, headers });
  };
}

/** The SDK gets the body as it is: a `Response` would make a web stream of it. */
function streamedResponse(
  { body, ...init }: Awaited<ReturnType<typeof postToOperatorUrl>>,
  watch: StreamWatch,
): Response {
  const response = new Response(null, init);
  if (BODILESS.includes(init.status)) body.cancel();
  else Object.defineProperty(response, 'body', { value: eventStream(body, watch) });
  return response;
}

/**
 * Keyed by the call's signal, which the SDK passes on. So one model object serves many calls, each with its own watch.
 */
const watched = new WeakMap<AbortSignal, typeof fetch>();

export function watchCall(signal: AbortSignal, watch: StreamWatch): AbortSignal {
  watched.set(signal, watchedFetch(watch, signal));
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
