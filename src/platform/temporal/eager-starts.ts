const ofConnection = new WeakMap<object, EagerStarts>();

/**
 * The starts over a worker's connection that ask for the first workflow task along with the answer. For each one the
 * SDK holds a lock while it waits for our slot supplier, which runs on the main thread. `Worker.shutdown` takes the
 * same lock on the main thread: called during such a start, it blocks the event loop forever (SDK 1.24).
 */
export class EagerStarts {
  readonly #pending = new Set<Promise<unknown>>();
  #isOpen = false;

  static of(connection: object): EagerStarts {
    const found = ofConnection.get(connection) ?? new EagerStarts();
    ofConnection.set(connection, found);
    return found;
  }

  /** Runs a start. It may be eager while a worker runs on the connection. */
  async run<T>(start: (isEager: boolean) => Promise<T>): Promise<T> {
    if (!this.#isOpen) return start(false);
    const starting = start(true);
    this.#pending.add(starting);
    try {
      return await starting;
    } finally {
      this.#pending.delete(starting);
    }
  }

  open(): void {
    this.#isOpen = true;
  }

  /** Makes all later starts non-eager. Resolves when no eager start is pending; each has the deadline of its call. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await Promise.allSettled(this.#pending);
  }
}
