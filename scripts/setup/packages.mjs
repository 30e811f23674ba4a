import { inRoot } from '../lib/paths.mjs';
import { SetupError, withProgress } from '../lib/progress.mjs';
import { runChild } from '../lib/run-child.mjs';
import { hashOf, readText, writeWhole } from '../lib/stamp.mjs';

/** Inside node_modules, so it goes when they go: `npm ci` that was cut short leaves no stamp. */
const stamp = inRoot('node_modules/.signalbox-lock');

/** Installs exactly what package-lock.json says, when it is not there already. */
export async function installPackages() {
  const hash = hashOf([inRoot('package-lock.json')]);
  if (readText(stamp) === hash) return;
  if (!isInstalled(inRoot('package-lock.json'), inRoot('node_modules/.package-lock.json'))) {
    await withProgress('installing packages (npm ci)', npmCi);
  }
  writeWhole(stamp, hash);
}

/**
 * Whether npm's own record of node_modules says what the lock says, so that a developer's `npm i` is not done again.
 * Packages of other systems may be missing.
 * @param {string} lockFile
 * @param {string} recordFile
 */
export function isInstalled(lockFile, recordFile) {
  const [lock, record] = [readPackages(lockFile), readPackages(recordFile)];
  if (!lock || !record) return false;
  return (
    Object.keys(record).every((path) => path in lock) &&
    Object.entries(lock).every(([path, wanted]) => {
      const found = record[path];
      if (path === '' || (!found && wanted.optional)) return true;
      return found?.version === wanted.version && found?.integrity === wanted.integrity;
    })
  );
}

/**
 * @param {string} file
 * @returns {Record<string, { version?: string, integrity?: string, optional?: boolean }> | null}
 */
function readPackages(file) {
  const text = readText(file);
  try {
    return text && JSON.parse(text).packages;
  } catch {
    return null;
  }
}

async function npmCi() {
  // No install scripts on any npm: older ones do not know `allowScripts`, and none is needed: src/platform/embedded makes
  // the links of its Postgres itself.
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const npm = process.env.npm_execpath;
  const { code, output } =
    npm && /npm-cli\.c?js$/.test(npm) ? await runChild(process.execPath, [npm, ...args]) : await runChild('npm', args);
  if (code === 0) return;
  throw new SetupError(
    `${output.trim()}\n\n\`npm ci\` ended with ${code}: fix what it reports above (most often the network) and start again.`,
  );
}
