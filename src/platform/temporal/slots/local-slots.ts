/** Half of the activity slots, so that activities of runs that are further along always find some. */
const MOST = 50;

/**
 * Activity slots for work that this process does outside Temporal's activity tasks. They count against the worker's
 * limit, so the process never does more at once than a worker whose work is all activity tasks.
 */
export class LocalSlots {
  #count = 0;
  #tryReserve: () => (() => void) | null = () => null;

  /** Takes a slot of the current worker. Returns the function that releases it, or null when there is none. */
  readonly tryTake = (): (() => void) | null => {
    const release = this.#count < MOST ? this.#tryReserve() : null;
    if (release === null) return null;
    this.#count += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#count -= 1;
      release();
    };
  };

  /** From now on slots come from this worker. Slots of the last one are released there. */
  use(tryReserve: () => (() => void) | null): void {
    this.#tryReserve = tryReserve;
  }
}
