/**
 * Does the work for each item in sequence. A failed item does not stop the others; the first error is thrown at the
 * end.
 */
export async function forEachIndependently<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
