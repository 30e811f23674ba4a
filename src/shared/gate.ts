export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/** At most `width` of the works at once; further ones wait in line, first come first served. A full line throws `full()`. */
export function createGate(width: number, line: number, full: () => Error): Gate {
  let atWork = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (atWork < width) atWork += 1;
    else if (waiting.length >= line) throw full();
    // Who leaves hands its place on, so it is never counted free in between.
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else atWork -= 1;
    }
  };
}
