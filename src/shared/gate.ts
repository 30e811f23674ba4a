export interface Gate {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Throws the error that one more work would get, when the queue is full. */
  assertRoom(): void;
}

interface GateOptions {
  readonly width: number;
  /** The maximum queue length. */
  readonly line: number;
  /** The error when the queue is full. */
  readonly full: () => Error;
  /** While others wait, a slot stays free after a work for this multiple of its duration. Default 0. */
  readonly rest?: number;
}

/** Runs at most `width` works at once; others wait in a first-in, first-out queue. */
export function createGate({ width, line, full, rest = 0 }: GateOptions): Gate {
  let taken = 0;
  const waiting: (() => void)[] = [];
  const assertRoom = () => {
    if (taken >= width && waiting.length >= line) throw full();
  };
  const leave = () => {
    // A finished work passes its slot on, so it never counts as free in between.
    const next = waiting.shift();
    if (next) next();
    else taken -= 1;
  };
  return {
    assertRoom,
    async run(work) {
      assertRoom();
      if (taken < width) taken += 1;
      else await new Promise<void>((go) => waiting.push(go));
      const began = performance.now();
      try {
        return await work();
      } finally {
        if (rest > 0 && waiting.length > 0) setTimeout(leave, (performance.now() - began) * rest);
        else leave();
      }
    },
  };
}
