import type { Db } from '../../platform/db/contract.js';
import { createWakeup } from '../../shared/wakeup.js';

const CHANNEL = 'secret_token';
/** A notification may be lost, and a killed process sends none. */
const POLL_MS = 1_000;

export interface TokenChanges {
  /** Resolves at the next change of this secret's token since the last call, at the latest after a second. */
  next(): Promise<void>;
  close(): void;
}

export function watchToken(db: Db, id: string): TokenChanges {
  const wakeup = createWakeup();
  const close = db.listen(CHANNEL, (payload) => {
    if (payload === id) wakeup.set();
  });
  return { next: () => wakeup.wait(POLL_MS), close };
}

/** Wakes the waiters for this secret's token. Call it after the commit. */
export function notifyTokenWaiters(db: Db, id: string): Promise<void> {
  return db.notify(CHANNEL, id);
}
