import { ModelError } from '../contract.js';
import { classifyStatus, classifyWords, isOurFault } from '../failing/classify.js';
import { isPage, providerWords } from '../failing/provider-words.js';
import { contentFinder } from './find-content.js';
import type { Silence } from './silence.js';

const PEEK = 10_000;

/** Who is told of what comes. */
type Ear = Pick<Silence, 'heard' | 'alive'>;
const DEAF: Ear = { heard: () => undefined, alive: () => undefined };

/**
 * `fetch` for a streamed call: tells of all that is heard, so that silence can be noticed; follows no redirect, since the
 * key would go along; and reads an answer that is no event stream for what it says.
 */
function watchedFetch(ear: Ear): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    ear.heard();
    if (response.status >= 300 && response.status < 400) {
      const target = response.headers.get('location') ?? 'nowhere';
      await response.body?.cancel();
      throw new ModelError('refused', `it redirects to ${target}: set that as the base URL if you trust it`);
    }
    // Only what is surely no stream: several servers send events under a type of their own.
    if (response.ok && /\/(json|html)/i.test(response.headers.get('content-type') ?? '')) await refuseAnswer(response);
    return new Response(response.body?.pipeThrough(watch(ear)) ?? null, response);
  };
}

/** Each call has a signal of its own, and the SDK hands it on: so one model serves many calls, each watched for itself. */
const watched = new WeakMap<AbortSignal, typeof fetch>();

export function watchCall(signal: AbortSignal, ear: Ear): AbortSignal {
  watched.set(signal, watchedFetch(ear));
  return signal;
}

export const fetchOfCall: typeof fetch = (input, init) => {
  const own = init?.signal ? watched.get(init.signal) : undefined;
  return (own ?? watchedFetch(DEAF))(input, init);
};

function watch(ear: Ear): TransformStream<Uint8Array, Uint8Array> {
  const hasContent = contentFinder();
  return new TransformStream({
    transform(chunk, controller) {
      if (hasContent(chunk)) ear.heard();
      else ear.alive();
      controller.enqueue(chunk);
    },
  });
}

/** A 200 of another type than a stream of events: an error in JSON, a web page, or nothing. */
async function refuseAnswer(response: Response): Promise<never> {
  const body = (await response.text()).slice(0, PEEK);
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
