import type { Runtime } from './merge-runtime.js';

/** The path of a prepared environment inside the sandbox, while it is created and when it is used. */
export const RUNTIME_INSIDE = '/runtime';
export const REQUIREMENTS = '/run/packages/requirements.txt';

const NPM = 'npm install --ignore-scripts --no-audit --no-fund --omit=dev --no-package-lock --no-update-notifier';

/**
 * The script that prepares an environment, for bash in the sandbox. Only built packages (wheels) are installed, and
 * none runs code during installation: no setup.py, no install script. $1 is the Python to use, $2 the Node package.
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
    // Sync before the folder is renamed: after a power failure it is complete, or absent.
    'sync -f /runtime',
    'du -s -B1 /runtime | cut -f1',
  ];
  return parts.join('\n');
}
