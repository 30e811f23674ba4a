import { PassThrough, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { withErrorListener } from '../../../shared/error-listener.js';
import { errorMessage, Refusal } from '../../../shared/refusal.js';
import { ClientLeft } from '../../client-left.js';

export interface GitBody {
  readonly body: Readable;
  /** Aborted when the client leaves, is silent for too long or takes too long. */
  readonly signal: AbortSignal;
}

interface BodyInput {
  readonly isGzip: boolean;
  /** The maximum duration of the whole body. */
  readonly longestMs: number;
  /** Aborted when the client leaves. */
  readonly left: AbortSignal;
}

/** A silent client must not keep its place in the queue forever. */
const IDLE_MS = 60_000;

/**
 * Streams the bytes of a request. The body fails with `ClientLeft`, or with a `Refusal`: `timed_out` for a client that
 * is silent or too slow, `malformed` for bytes that are not gzip.
 */
export function receiveBody(source: Readable, { isGzip, longestMs, left }: BodyInput): GitBody {
  // The client may leave before a handler reads.
  const raw = withErrorListener(source);
  const late = new AbortController();
  let bytes = 0;
  const giveUp = (why: string) => late.abort(tooLate(bytes, why));
  const onIdle = () => {
    // While the reader is behind, the client waits for the service.
    if (raw.isPaused()) idle = setTimeout(onIdle, IDLE_MS);
    else giveUp(`nothing came for ${IDLE_MS / 1_000} s`);
  };
  let idle = setTimeout(onIdle, IDLE_MS);
  const whole = setTimeout(() => giveUp(`not all came within ${longestMs / 60_000} minutes`), longestMs);
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    clearTimeout(idle);
    idle = setTimeout(onIdle, IDLE_MS);
  });
  const stop = () => {
    clearTimeout(idle);
    clearTimeout(whole);
  };
  raw.once('end', stop);
  raw.once('close', stop);
  raw.pause();
  const signal = AbortSignal.any([left, late.signal]);
  // Not the request itself: destroying it closes the connection before a refusal is sent.
  const body = withErrorListener(new PassThrough());
  if (isGzip) unzip(raw, body);
  else raw.pipe(body);
  const leave = () => body.destroy(signal.reason instanceof Refusal ? signal.reason : new ClientLeft());
  raw.once('close', () => {
    if (!raw.readableEnded) leave();
  });
  signal.addEventListener('abort', leave, { once: true });
  // A client that left before, during authentication for instance, causes no further event.
  if (raw.destroyed || signal.aborted) leave();
  return { body, signal };
}

function unzip(raw: Readable, body: PassThrough): void {
  const gunzip = createGunzip();
  gunzip.once('error', (error) => {
    body.destroy(new Refusal('malformed', `the body cannot be decoded as gzip: ${errorMessage(error)}`));
  });
  body.once('close', () => gunzip.destroy());
  raw.pipe(gunzip).pipe(body);
}

function tooLate(bytes: number, why: string): Refusal {
  return new Refusal('timed_out', `the request did not arrive in time: ${bytes} bytes came, then ${why}; try again`, {
    code: 'body-timeout',
  });
}
