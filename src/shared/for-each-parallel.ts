/**
 * Does the work for each item, for at most `atOnce` at a time. Rejects with the first error at once. The work for the
 * other items continues meanwhile, until `atOnce` items have failed.
 */
export async function forEachParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const next = items.values();
  const worker = async (): Promise<void> => {
    for (const item of next) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}
