import type { Runtime } from './merge-runtime.js';

/** Where a prepared environment is, inside: while it is made, and to all who use it. */
export const RUNTIME_INSIDE = '/runtime';
export const REQUIREMENTS = '/run/packages/requirements.txt';

const NPM = 'npm install --ignore-scripts --no-audit --no-fund --omit=dev --no-package-lock --no-update-notifier';

/**
 * What prepares an environment, for bash in the sandbox. Packages come built (wheels) and run nothing while they are
 * installed: no setup.py, no install script. $1 is the Python to use, $2 the package of Node to get.
 */
export function installScript(
  { pip, npm }: Runtime,
  needs: { readonly python: boolean; readonly node: boolean },
): string {
  const specs = npm.map((spec) => `'${spec}'`).join(' ');
  const parts = [
    'set -eu',
    'export TMPDIR=/runtime/.tmp npm_config_cache=/runtime/.tmp/npm; mkdir -p "$TMPDIR"',
    ...(needs.python ? ['"$1" -m venv --without-pip /runtime/python'] : []),
    ...(pip.length > 0
      ? [
          `"$1" -m pip --version >/dev/null 2>&1 || { echo "there is no pip for $1: install it on the machine (Debian, Ubuntu: apt install python3-pip)" >&2; exit 1; }`,
          `"$1" -m pip --python /runtime/python/bin/python3 install --only-binary :all: --no-input --no-cache-dir --progress-bar off --disable-pip-version-check --no-warn-script-location -r ${REQUIREMENTS}`,
        ]
      : []),
    ...(needs.node ? [`${NPM} --prefix /runtime/interpreter -- "$2"`] : []),
    ...(specs === '' ? [] : [`${NPM} --prefix /runtime -- ${specs}`]),
    'rm -rf /runtime/.tmp',
    // Before its folder takes its name: after a power cut it is whole, or not there.
    'sync -f /runtime',
    'du -s -B1 /runtime | cut -f1',
  ];
  return parts.join('\n');
}
