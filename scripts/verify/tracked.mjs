import { readFileSync } from 'node:fs';
import { inRoot } from '../lib/paths.mjs';
import { runChild } from '../lib/run-child.mjs';

/** Files by path from the root, with `/`: what git knows, and what it would add. @typedef {ReadonlyMap<string, string>} Files */

const TEXT = /\.(ts|tsx|mts|mjs|js|md)$/;

/** The text files that the checks read. Outside a git checkout there are none, and that is an error. @returns {Promise<Files>} */
export async function readTracked() {
  const { code, output } = await runChild('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  if (code !== 0) throw new Error(`\`git ls-files\` ended with ${code}: verify runs in a git checkout.\n${output}`);
  const paths = output.split('\0').filter((path) => TEXT.test(path));
  return new Map(paths.flatMap((path) => readIfThere(path)));
}

/** Deleted but not yet committed files are still listed. @param {string} path @returns {[string, string][]} */
function readIfThere(path) {
  try {
    return [[path, readFileSync(inRoot(path), 'utf8')]];
  } catch {
    return [];
  }
}
