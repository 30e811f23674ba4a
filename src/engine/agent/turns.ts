/** How much later than announced a call may come back before it loses its place, in ms. */
const LATE_MS = 10_000;

interface Waiting {
  readonly rank: number;
  /** It keeps its place until then. */
  readonly until: number;
}

interface Asking {
  readonly rank: number;
  /** When it asks again if it is refused, in ms from now. */
  readonly againInMs: number;
}

/** Serializes calls that are suspected of ending their process: one at a time, the lowest rank first. */
export class Turns {
  readonly #waiting = new Map<string, Waiting>();
  #isBusy = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Gives the call its turn and returns the function that ends it; null while another call has the turn or precedes it.
   */
  acquire(key: string, { rank, againInMs }: Asking): (() => void) | null {
    const now = this.now();
    if (this.#isBusy || !this.#isFirst(key, rank, now)) {
      this.#waiting.set(key, { rank, until: now + againInMs + LATE_MS });
      return null;
    }
    this.#waiting.delete(key);
    this.#isBusy = true;
    return () => {
      this.#isBusy = false;
    };
  }

  #isFirst(key: string, rank: number, now: number): boolean {
    // A map keeps its keys in order of insertion.
    let isEarlier = true;
    for (const [other, waiting] of this.#waiting) {
      if (other === key) isEarlier = false;
      // That call continues in another process, or its run has ended.
      else if (waiting.until < now) this.#waiting.delete(other);
      else if (waiting.rank < rank || (waiting.rank === rank && isEarlier)) return false;
    }
    return true;
  }
}
