import { Refusal } from '../shared/refusal.js';

/** Under the 2 s within which a caller must learn that a part of the service does not answer. */
const LIMIT_MS = 1_500;

/** The answer, or `unavailable` when it does not come in time: a hanging part must not hang its callers. */
export async function answerWithin<T>(work: Promise<T>, what: string, limitMs: number = LIMIT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(unavailable(what)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

function unavailable(what: string): Refusal {
  return new Refusal('unavailable', `${what} does not answer; try again in a few seconds`, { retryAfter: 5 });
}
