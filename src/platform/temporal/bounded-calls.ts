import { type Connection, isGrpcServiceError } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { settlesWithin } from '../../shared/deadline.js';
import { Refusal } from '../../shared/refusal.js';

const CALL_TIMEOUT_MS = 10_000;
/**
 * gRPC codes of a call that missed its deadline (https://grpc.io/docs/guides/status-codes/). A worker's connection
 * answers with the first.
 */
const LATE = new Set([1, 4]);
/** Further codes of a server that is unavailable or too slow. */
const AWAY = new Set([...LATE, 8, 14]);

export interface BoundedCalls {
  /** Makes a call with a deadline. If Temporal is unavailable or does not answer, it throws a Refusal `unavailable`. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>;
  /** Iterates over a list; the call for each page has a deadline. */
  readonly each: <T>(list: AsyncIterable<T>) => AsyncIterable<T>;
  /** Repeats a long poll after each deadline, until it is answered or `isOver`. */
  readonly poll: (work: () => Promise<unknown>, isOver: () => boolean) => Promise<void>;
}

/** Gives each call on the connection a deadline. Otherwise a server that hangs would block the call forever. */
export function boundCalls(connection: Connection | NativeConnection): BoundedCalls {
  const timed = <T>(work: () => Promise<T>) => connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, work);
  const call = async <T>(work: () => Promise<T>) => {
    try {
      return await timed(work);
    } catch (error) {
      throw toRefusal(error);
    }
  };
  return {
    call,
    async *each(list) {
      const items = list[Symbol.asyncIterator]();
      for (let next = await call(() => items.next()); !next.done; next = await call(() => items.next()))
        yield next.value;
    },
    async poll(work, isOver) {
      while (!isOver()) {
        try {
          await timed(work);
          return;
        } catch (error) {
          if (!LATE.has(codeOf(error) ?? 0)) throw error;
        }
      }
    },
  };
}

/**
 * Resolves when the work ends, even if it fails, or when the time is over: a worker's connection takes no abort
 * signal (SDK 1.24).
 */
export async function atMost(ms: number, work: () => Promise<unknown>): Promise<void> {
  await settlesWithin(
    work().catch(() => undefined),
    ms,
  );
}

function codeOf(error: unknown): number | undefined {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return [error, cause].find(isGrpcServiceError)?.code;
}

function toRefusal(error: unknown): unknown {
  if (!AWAY.has(codeOf(error) ?? 0)) return error;
  const refusal = new Refusal('unavailable', 'Temporal does not answer; try again in a moment', { retryAfter: 2 });
  refusal.cause = error;
  return refusal;
}
