import { inRoot } from '../../scripts/lib/paths.mjs';
import { readText } from '../../scripts/lib/stamp.mjs';

/** Where the compiled code of this build's modules lies: see code-cache.mjs. */
export function codeCacheFile() {
  const build = readText(inRoot('dist/.stamp'))?.slice(0, 16) ?? 'unknown';
  return inRoot('dist', `.code-cache-${process.version}-${build}`);
}
