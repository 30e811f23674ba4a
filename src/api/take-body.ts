import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { bodyTooLarge } from '../shared/content-coding.js';
import { overloaded, Refusal } from '../shared/refusal.js';
import type { AppEnv } from './env.js';

export interface BodyRules {
  readonly maxBytes: number;
  /** Counts the bytes of unproven bodies; null when the sender is known. */
  readonly unproven: BodyBudget | null;
  readonly deadline?: BodyDeadline;
}

export interface BodyDeadline {
  /** The longest silence, and the time after which the rate counts. */
  readonly idleMs: number;
  readonly minBytesPerSecond: number;
}

/** Slower than any modem in use: a slower client only holds a connection. */
const DEADLINE: BodyDeadline = { idleMs: 15_000, minBytesPerSecond: 4_096 };

/** Limits the bytes of unproven bodies that the process holds at once. */
export class BodyBudget {
  #held = 0;

  constructor(readonly maxBytes: number) {}

  hold(bytes: number): void {
    if (this.#held + bytes > this.maxBytes) {
      throw overloaded('too many bodies are being received at once; try again in a few seconds', 5);
    }
    this.#held += bytes;
  }

  free(bytes: number): void {
    this.#held -= bytes;
  }
}

/** The declared length of the body: 0 without a body, null when the length is not declared. */
export function declaredLength(c: Context<AppEnv>): number | null {
  if (c.req.header('transfer-encoding') !== undefined) return null;
  const length = c.req.header('content-length');
  if (length !== undefined) return Number(length);
  // A request without a connection, as tests make them, declares nothing.
  const isStreamed = c.env?.incoming === undefined && c.req.raw.body !== null;
  return isStreamed ? null : 0;
}

/** The bytes of the request as they arrive. */
export function rawStream(c: Context<AppEnv>): Readable {
  if (c.env?.incoming) return c.env.incoming;
  return c.req.raw.body ? Readable.fromWeb(c.req.raw.body) : Readable.from([]);
}

/** The raw bytes of the body. Throws without a response when the client has left. */
export async function readRawBody(c: Context<AppEnv>, rules: BodyRules): Promise<Buffer> {
  const declared = declaredLength(c);
  if (declared === 0) return Buffer.alloc(0);
  if (declared !== null && declared > rules.maxBytes) throw bodyTooLarge(rules.maxBytes);
  // Do not read the request's own web stream: cancelling it closes the connection before the refusal is sent.
  return readBytes(rawStream(c), rules);
}

/** Reads the stream to its end. On a refusal the stream is paused and not destroyed. */
export function readBytes(source: Readable, { maxBytes, unproven, deadline = DEADLINE }: BodyRules): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const clock = createBodyClock(deadline);
    let bytes = 0;
    const timer = setInterval(() => {
      const late = clock.fault(bytes);
      if (late !== null) finish(() => reject(late));
    }, 1_000);
    const finish = (act: () => void) => {
      clearInterval(timer);
      for (const [event, handler] of listeners) source.off(event, handler);
      // The stream may fail after the refusal, when the connection closes.
      source.on('error', () => undefined);
      source.pause();
      unproven?.free(bytes);
      act();
    };
    const onData = (chunk: Buffer) => {
      try {
        if (bytes + chunk.length > maxBytes) throw bodyTooLarge(maxBytes);
        unproven?.hold(chunk.length);
      } catch (error) {
        return finish(() => reject(error));
      }
      bytes += chunk.length;
      clock.onBytes();
      chunks.push(chunk);
    };
    const left = () => finish(() => reject(new Refusal('malformed', 'the body ended before all of it came')));
    const listeners = [
      ['data', onData],
      ['end', () => finish(() => resolve(Buffer.concat(chunks)))],
      ['error', left],
      ['close', left],
    ] as const;
    for (const [event, handler] of listeners) source.on(event, handler);
    if (source.destroyed) left();
  });
}

/** Checks the rate in each interval of `idleMs`, so that early bytes do not allow a trickle afterwards. */
function createBodyClock({ idleMs, minBytesPerSecond }: BodyDeadline) {
  const startedAt = performance.now();
  let lastBytesAt = startedAt;
  let interval = { since: startedAt, bytes: 0 };
  return {
    onBytes() {
      lastBytesAt = performance.now();
    },
    /** The refusal of a silent or slow body; null while it is in time. */
    fault(bytes: number): Refusal | null {
      const now = performance.now();
      const isIdle = now - lastBytesAt >= idleMs;
      const seconds = (now - interval.since) / 1_000;
      const isWhole = seconds * 1_000 >= idleMs;
      const isSlow = isWhole && bytes - interval.bytes < minBytesPerSecond * seconds;
      if (isWhole) interval = { since: now, bytes };
      if (!isIdle && !isSlow) return null;
      const message = `the body did not arrive in time: ${bytes} bytes in ${Math.round((now - startedAt) / 1_000)} s`;
      return new Refusal('timed_out', message, { code: 'body-timeout' });
    },
  };
}
