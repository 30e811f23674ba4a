export interface Gate {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Throws what a further work would get now, when the line is full. */
  assertRoom(): void;
}

interface GateOptions {
  readonly width: number;
  /** How many may wait in line. */
  readonly line: number;
  /** What one more gets. */
  readonly full: () => Error;
  /** While others wait, a place stays empty after a work for so many times as long as that took. Default 0. */
  readonly rest?: number;
}

/** At most `width` of the works at once; further ones wait in line, first come first served. */
export function createGate({ width, line, full, rest = 0 }: GateOptions): Gate {
  let taken = 0;
  const waiting: (() => void)[] = [];
  const assertRoom = () => {
    if (taken >= width && waiting.length >= line) throw full();
  };
  const leave = () => {
    // Who leaves hands the place on, so it is never counted free in between.
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
