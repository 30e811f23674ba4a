/** At most `size` of the tasks given to the answered function run at once; the rest wait in order. */
export function limiter(size: number): <T>(task: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (running >= size) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      // A place goes straight to the next in line, so that nobody slips in between.
      if (next) next();
      else running -= 1;
    }
  };
}
