const closers: (() => unknown)[] = [];

/** Done when the test file that is at work has ended, the last given first. A module of test/support lives longer. */
export function atFileEnd(close: () => unknown): void {
  closers.push(close);
}

/** All of them, whatever one says; what the first said is thrown. */
export async function endFile(): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closers.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
