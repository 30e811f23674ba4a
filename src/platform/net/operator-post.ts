import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { Agent, EnvHttpProxyAgent, getGlobalDispatcher, request } from 'undici';
import { toHeaders } from './headers.js';

const ZLIB = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };

type Decode = (from: Readable) => Readable;

/** Each part of a stream is passed on as it arrives. */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', (from) => through(from, createGunzip(ZLIB))],
  ['x-gzip', (from) => through(from, createGunzip(ZLIB))],
  ['deflate', (from) => Readable.from(inflate(from), { objectMode: false })],
  ['br', (from) => through(from, createBrotliDecompress(BROTLI))],
]);
const MAX_CODINGS = 5;

/** Connections are kept alive. With `NODE_USE_ENV_PROXY`, Node's own requests use the environment's proxy: so do these. */
const dispatcher =
  getGlobalDispatcher().constructor.name === 'EnvHttpProxyAgent' ? new EnvHttpProxyAgent() : new Agent();

interface OperatorPost {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** The body of an answer: decompressed, read at the reader's pace. `cancel` ends the connection at any time. */
export interface PostedBody extends AsyncIterable<Uint8Array> {
  cancel(): void;
}

interface PostedAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly body: PostedBody;
}

/**
 * A POST to an address that the operator configured, so no rule of users' addresses applies. It costs half the CPU of
 * `fetch`, follows no redirect and fails as `fetch` does: a TypeError whose cause is the reason.
 */
export async function postToOperatorUrl(
  address: string,
  { headers, body, signal }: OperatorPost,
): Promise<PostedAnswer> {
  const url = new URL(address);
  if (url.username !== '' || url.password !== '')
    throw new TypeError(`the address ${url.origin} has credentials in it`);
  const answer = await request(url, {
    method: 'POST',
    headers: { accept: '*/*', ...headers, 'accept-encoding': 'gzip, deflate, br' },
    body,
    signal,
    dispatcher,
  }).catch((cause: unknown) => {
    throw signal.aborted ? signal.reason : new TypeError('fetch failed', { cause });
  });
  const received = toHeaders(answer.headers);
  return {
    status: answer.statusCode,
    statusText: answer.statusText,
    headers: received,
    body: postedBody(answer.body, decoded(answer.body, received.get('content-encoding') ?? ''), signal),
  };
}

function postedBody(raw: Readable, body: Readable, signal: AbortSignal): PostedBody {
  // An end before the last byte is an error event, also when the reader has stopped.
  for (const stream of [raw, body]) stream.on('error', () => undefined);
  return {
    cancel: () => {
      body.destroy();
      raw.destroy();
    },
    async *[Symbol.asyncIterator]() {
      try {
        for await (const chunk of body) yield chunk;
      } catch (cause) {
        throw signal.aborted ? signal.reason : new TypeError('terminated', { cause });
      }
    },
  };
}

/** An answer in an unknown coding stays as it is. */
function decoded(raw: Readable, encoding: string): Readable {
  const names = encoding.toLowerCase().split(',');
  const codings = names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity');
  const decoders = codings.reverse().flatMap((name) => DECODERS.get(name) ?? []);
  if (decoders.length < codings.length || decoders.length > MAX_CODINGS) return raw;
  return decoders.reduce((from, decode) => decode(from), raw);
}

/** An error on one side destroys the other. */
function through(from: Readable, decoder: Transform): Readable {
  return pipeline(from, decoder, () => undefined);
}

/** `deflate` is the zlib format (RFC 9110 8.4.1.2), but some servers send raw deflate. The first byte says which. */
async function* inflate(from: Readable): AsyncGenerator<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = from[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return;
  const isZlib = ((first.value[0] ?? 0) & 0x0f) === 0x08;
  const all = async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  yield* through(Readable.from(all(), { objectMode: false }), isZlib ? createInflate(ZLIB) : createInflateRaw(ZLIB));
}
