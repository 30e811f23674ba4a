/** At most `size` of the tasks given to the returned function run at once; the others wait in order. */
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
      // Hand the place directly to the next in line, so that no new task takes it.
      if (next) next();
      else running -= 1;
    }
  };
}
