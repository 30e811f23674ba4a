import { createHash } from 'node:crypto';
import { renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './paths.mjs';
import { say } from './progress.mjs';

const BEAT_MS = 1_000;
/** A holder that was killed stops beating, and after this long the next one takes over. */
const STALE_MS = 10_000;

/**
 * Two starts of one folder set up one after the other: two `npm ci` at once would break each other.
 * @template T @param {() => Promise<T>} work
 * @param {string} [file] outside of the folder, since `npm ci` empties node_modules
 */
export async function withSetupLock(work, file = lockFile()) {
  for (let isShown = false; !tryLock(file); isShown = true) {
    if (!isShown) say('  … another start of this folder is setting up: waiting for it');
    await new Promise((resolve) => setTimeout(resolve, BEAT_MS / 4));
  }
  const beat = setInterval(() => touch(file), BEAT_MS);
  const release = () => rmSync(file, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    process.off('exit', release);
    release();
  }
}

function lockFile() {
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  return join(tmpdir(), `signalbox-setup-${process.getuid?.() ?? 0}-${name}.lock`);
}

/** @param {string} file */
function touch(file) {
  try {
    utimesSync(file, new Date(), new Date());
  } catch {
    // We were stopped for so long that another start took over.
  }
}

/** @param {string} file */
function tryLock(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    removeStale(file);
    return false;
  }
}

/** @param {string} file */
function removeStale(file) {
  try {
    if (Date.now() - statSync(file).mtimeMs < STALE_MS) return;
    const aside = `${file}.${process.pid}`;
    renameSync(file, aside);
    rmSync(aside);
  } catch {
    // Its holder, or another one who waits, was faster.
  }
}
