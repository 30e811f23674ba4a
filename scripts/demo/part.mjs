/** A part of the demo that failed: the person at the screen reads which one and why. */
export class PartError extends Error {
  /** @param {string} part @param {string} reason @param {unknown} [cause] */
  constructor(part, reason, cause) {
    super(reason, { cause });
    this.part = part;
  }
}

/**
 * Does a part of the demo; whatever goes wrong in it carries the part's name.
 * @template T @param {string} part @param {() => Promise<T>} work @returns {Promise<T>}
 */
export async function inPart(part, work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PartError) throw error;
    throw new PartError(part, reasonOf(error), error);
  }
}

/** What `fetch` throws says only that it failed; the reason is its cause. @param {unknown} error */
function reasonOf(error) {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? `${error.message}: ${cause.message}` : error.message;
}
