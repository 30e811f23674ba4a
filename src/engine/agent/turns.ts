/** How much later than announced a call may come back before its place is free, in ms. */
const LATE_MS = 10_000;

interface Waiting {
  readonly rank: number;
  /** Its place is kept until then. */
  readonly until: number;
}

interface Asking {
  readonly rank: number;
  /** When it asks again should it be refused, in ms from now. */
  readonly againInMs: number;
}

/** The calls under suspicion of ending their process, of which one at a time is made: the lowest rank first. */
export class Turns {
  readonly #waiting = new Map<string, Waiting>();
  #isBusy = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Gives the turn to that call and answers how to end it; null while another call has it or is to have it first. */
  take(key: string, { rank, againInMs }: Asking): (() => void) | null {
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
    // A map keeps the order in which its keys came.
    let isEarlier = true;
    for (const [other, waiting] of this.#waiting) {
      if (other === key) isEarlier = false;
      // That call goes on in another process, or its run has ended.
      else if (waiting.until < now) this.#waiting.delete(other);
      else if (waiting.rank < rank || (waiting.rank === rank && isEarlier)) return false;
    }
    return true;
  }
}
