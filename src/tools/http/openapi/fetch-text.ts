import { untilAborted } from '../../../shared/deadline.js';
import { decodeText } from '../../text-file.js';
import type { HttpDeps } from '../request.js';

interface Kept {
  readonly text: string;
  readonly etag: string | null;
  readonly at: number;
}

const FRESH_MS = 5 * 60_000;
/** How long a document is used on after its address has stopped to answer. */
const STALE_MS = 24 * 3_600_000;
const MAX_BYTES = 24 * 1_048_576;
const MAX_KEPT = 96 * 1_048_576;
const TIMEOUT_MS = 60_000;

/** The documents that this process has fetched, the longest unused first. No credential ever goes for one. */
const kept = new Map<string, Kept>();
const underWay = new Map<string, Promise<{ readonly text: string } | string>>();

/** A document by its address: fetched once in five minutes, however many steps ask; a sentence when it cannot be had. */
export async function fetchText(
  deps: Pick<HttpDeps, 'net'>,
  address: string,
  signal: AbortSignal,
): Promise<{ readonly text: string } | string> {
  const known = kept.get(address);
  if (known && Date.now() - known.at < FRESH_MS) {
    cacheText(address, known);
    return known;
  }
  const fetching = underWay.get(address) ?? fetchAnew(deps, address, known);
  underWay.set(address, fetching);
  const done = fetching.finally(() => {
    if (underWay.get(address) === fetching) underWay.delete(address);
  });
  // A caller that aborts does not cancel the fetch for the others that wait for it.
  return untilAborted(done, signal);
}

async function fetchAnew(
  { net }: Pick<HttpDeps, 'net'>,
  address: string,
  known: Kept | undefined,
): Promise<{ readonly text: string } | string> {
  const answer = await net.request({
    url: address,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    headers: {
      accept: 'application/json, application/yaml;q=0.9, text/*;q=0.8, */*;q=0.5',
      ...(known?.etag && { 'if-none-match': known.etag }),
    },
  });
  const now = Date.now();
  if (answer.kind === 'answer' && answer.status === 304 && known) return cacheText(address, { ...known, at: now });
  const text = answer.kind === 'answer' && answer.status === 200 ? decodeText(answer.body) : null;
  if (answer.kind === 'answer' && text !== null) {
    return cacheText(address, { text, etag: answer.headers.get('etag'), at: now });
  }
  if (known && now - known.at < STALE_MS) return known;
  const { host } = URL.canParse(address) ? new URL(address) : { host: 'its address' };
  if (answer.kind === 'fault') return `the document cannot be fetched: ${answer.message}`;
  return `the document cannot be fetched: ${host} answers ${answer.status === 200 ? 'without text' : answer.status}`;
}

function cacheText(address: string, one: Kept): Kept {
  kept.delete(address);
  kept.set(address, one);
  let total = [...kept.values()].reduce((sum, { text }) => sum + text.length, 0);
  for (const [oldest, { text }] of kept) {
    if (total <= MAX_KEPT || oldest === address) break;
    kept.delete(oldest);
    total -= text.length;
  }
  return one;
}
