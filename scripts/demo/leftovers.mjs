import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** How each server is asked to end when the service, which would have done it, was killed. */
const SIGNALS = /** @type {const} */ ({
  postgres: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
  temporal: ['SIGTERM', 'SIGTERM', 'SIGKILL'],
});
const PATIENCE_MS = 5_000;

/**
 * Ends the servers that a service left behind: those that its data folder names. A service that ended by itself left
 * none. Answers when all are gone.
 * @param {string} dataDir
 */
export async function endLeftovers(dataDir) {
  const records = readRecords(join(dataDir, 'processes.json'));
  await Promise.all(
    Object.entries(SIGNALS).map(async ([name, signals]) => {
      const pid = records[name]?.pid;
      if (!pid) return;
      for (const signal of signals) if (await isGoneAfter(pid, signal)) return;
    }),
  );
}

/** @param {number} pid @param {NodeJS.Signals} signal */
async function isGoneAfter(pid, signal) {
  if (!send(pid, signal)) return true;
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    if (!send(pid, 0)) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

/** False when there is no such process. @param {number} pid @param {NodeJS.Signals | 0} signal */
function send(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** @param {string} file @returns {Record<string, { pid: number } | undefined>} */
function readRecords(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // The service got not so far as to start one.
    return {};
  }
}
