/** An error that the user can fix: it is printed without a stack. */
export class SetupError extends Error {}

const HEARTBEAT_MS = 5_000;
const seconds = (/** @type {number} */ since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

/** @param {string} text */
export const say = (text) => void process.stdout.write(`${text}\n`);

/**
 * Runs `work` and shows progress: a line at its start, one every 5 s, one at its end.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(title, work) {
  const since = Date.now();
  say(`  … ${title}`);
  const heartbeat = setInterval(() => say(`  … ${title}: ${seconds(since)}`), HEARTBEAT_MS);
  try {
    const result = await work();
    say(`  ✓ ${title} (${seconds(since)})`);
    return result;
  } finally {
    clearInterval(heartbeat);
  }
}

/** @param {unknown} error */
export function explain(error) {
  if (error instanceof SetupError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
