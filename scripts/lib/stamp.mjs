import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from './paths.mjs';

/**
 * A hash of files and folders, their names included. Missing ones count as missing, not as an error.
 * @param {readonly string[]} paths absolute
 * @param {(path: string) => boolean} [keep]
 */
export function hashOf(paths, keep = () => true) {
  const hash = createHash('sha256');
  for (const file of paths.flatMap((path) => filesUnder(path)).filter(keep)) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex');
}

/**
 * @param {string} path
 * @returns {string[]} absolute paths, sorted; a file answers itself
 */
function filesUnder(path) {
  try {
    const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    return entries.flatMap((entry) => {
      const child = join(path, entry.name);
      return entry.isDirectory() ? filesUnder(child) : [child];
    });
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    if (code === 'ENOTDIR') return [path];
    if (code === 'ENOENT') return [];
    throw error;
  }
}

/** A file's text; null when it cannot be read. @param {string} path */
export function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Whole or not at all, also when we are killed half-way. @param {string} path @param {string | Uint8Array} content */
export function writeWhole(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
}

/**
 * Does `work` unless it was done for this very `hash` and what it made is there. The stamp is taken away first and
 * set last, so work that was cut short is done again.
 * @param {{ stamp: string, hash: string, outputs: readonly string[] }} what absolute paths
 * @param {() => Promise<void>} work
 */
export async function runOnce({ stamp, hash, outputs }, work) {
  if (readText(stamp) === hash && outputs.every((output) => existsSync(output))) return;
  rmSync(stamp, { force: true });
  await work();
  writeWhole(stamp, hash);
}
