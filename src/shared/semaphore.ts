/** Limits how much work runs at once; other work waits in a first-in, first-out queue. */
export interface Semaphore {
  /** Waits for a permit and returns the function that releases it. Throws when the queue is full. */
  acquire(): Promise<() => void>;
  /** Does the work while it holds a permit. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Throws the error that one more work would get, when the queue is full. */
  assertRoom(): void;
  /** How many wait. */
  waiting(): number;
}

export interface SemaphoreOptions {
  readonly permits: number;
  /** The maximum length of the queue, and the error when it is full. Without it the queue is unbounded. */
  readonly queue?: { readonly most: number; readonly full: () => Error };
  /** While others wait, a permit stays unused after a work for this multiple of its duration. Default 0. */
  readonly rest?: number;
}

export function createSemaphore({ permits, queue, rest = 0 }: SemaphoreOptions): Semaphore {
  const line: (() => void)[] = [];
  let free = permits;
  const assertRoom = (): void => {
    if (queue && free === 0 && line.length >= queue.most) throw queue.full();
  };
  const release = (): void => {
    // Hand the permit directly to the next in line, so that no newcomer takes it.
    const next = line.shift();
    if (next) next();
    else free += 1;
  };
  const acquire = async (): Promise<() => void> => {
    assertRoom();
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => line.push(resolve));
    const began = performance.now();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (rest > 0 && line.length > 0) setTimeout(release, (performance.now() - began) * rest);
      else release();
    };
  };
  return {
    acquire,
    assertRoom,
    async run(work) {
      const leave = await acquire();
      try {
        return await work();
      } finally {
        leave();
      }
    },
    waiting: () => line.length,
  };
}

/** A semaphore whose permits are shared by keys, each with a limit and a queue of its own. */
export interface KeyedSemaphore {
  /** As `Semaphore.acquire`, for one key. */
  acquire(key: string): Promise<() => void>;
  /** How many wait for a permit of this key. */
  waiting(key: string): number;
}

/** `each` holds for one key, `all` for all keys together. */
export function createKeyedSemaphore(all: SemaphoreOptions, each: SemaphoreOptions): KeyedSemaphore {
  const shared = createSemaphore(all);
  const keys = new Map<string, { readonly own: Semaphore; users: number }>();
  return {
    async acquire(key) {
      const entry = keys.get(key) ?? { own: createSemaphore(each), users: 0 };
      keys.set(key, entry);
      entry.users += 1;
      const leave = (): void => {
        entry.users -= 1;
        if (entry.users === 0) keys.delete(key);
      };
      const undos: (() => void)[] = [leave];
      // Each undo runs only once.
      const release = (): void => {
        for (const undo of undos.splice(0).toReversed()) undo();
      };
      try {
        undos.push(await entry.own.acquire());
        undos.push(await shared.acquire());
        return release;
      } catch (error) {
        release();
        throw error;
      }
    },
    waiting: (key) => shared.waiting() + (keys.get(key)?.own.waiting() ?? 0),
  };
}
