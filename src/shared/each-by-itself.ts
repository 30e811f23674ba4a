/**
 * Does the work for each, one after the other; one that fails keeps none of the others from theirs. Throws the first
 * error when all have had their turn.
 */
export async function eachByItself<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
