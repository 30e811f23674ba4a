import { inRoot } from '../lib/paths.mjs';
import { runChild } from '../lib/run-child.mjs';
import { readText } from '../lib/stamp.mjs';

/** Files by path from the root, with `/`: what git knows, and what it would add. @typedef {ReadonlyMap<string, string>} Files */

const TEXT = /\.(ts|tsx|mts|mjs|js|md|prisma)$/;

/** The text files that the checks read. Outside a git checkout there are none, and that is an error. @returns {Promise<Files>} */
export async function readTracked() {
  const { code, output } = await runChild('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  if (code !== 0) throw new Error(`\`git ls-files\` ended with ${code}: verify runs in a git checkout.\n${output}`);
  /** @type {Map<string, string>} */
  const files = new Map();
  for (const path of output.split('\0').filter((each) => TEXT.test(each))) {
    const text = readText(inRoot(path));
    // A file that was deleted and not committed yet is still listed.
    if (text !== null) files.set(path, text);
  }
  return files;
}
