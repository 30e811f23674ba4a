import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from './patience.js';

/**
 * Sends as a client should: again when the answer says `Retry-After` or 503, and when an idle connection was closed under
 * the request. The request carries its own idempotency key, so nothing is done twice. What still answers so after
 * `PATIENCE_MS.poll` has a fault: its last answer is returned.
 */
export async function sendWithRetry(send: () => Promise<Response>): Promise<Response> {
  for (const until = Date.now() + PATIENCE_MS.poll; ; ) {
    const answer = await send().catch(resetOf);
    const isLast = Date.now() > until;
    if (answer instanceof Response && (isLast || waitOf(answer) === null)) return answer;
    if (answer instanceof Error && isLast) throw answer;
    if (answer instanceof Response) await sleep((waitOf(answer) ?? 0) * 1_000);
  }
}

/** Seconds until the request may be sent again; null when the answer is final. */
function waitOf({ ok, status, headers }: Response): number | null {
  const after = headers.get('retry-after');
  if (ok || (after === null && status !== 503)) return null;
  return Number(after ?? 1);
}

/** A service that has ended refuses the next connection: that error is thrown. */
function resetOf(error: Error): Error {
  if ((error.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET') return error;
  throw error;
}
