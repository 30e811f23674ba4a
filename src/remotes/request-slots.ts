import { Refusal } from '../shared/refusal.js';
import { createKeyedSemaphore, type KeyedSemaphore } from '../shared/semaphore.js';

interface RequestSlots {
  readonly permits: number;
  /** The permits of one account. */
  readonly each: number;
  /** How many may wait: of one account, and of all. */
  readonly waiting: number;
}

/** How many git requests are served at once, by account. When the queue is full, the caller may retry. */
export function requestSlots({ permits, each, waiting }: RequestSlots): KeyedSemaphore {
  const full = () =>
    new Refusal('unavailable', 'too many requests are waiting; try again in a moment', { retryAfter: 5 });
  const queue = { most: waiting, full };
  return createKeyedSemaphore({ permits, queue }, { permits: each, queue });
}
