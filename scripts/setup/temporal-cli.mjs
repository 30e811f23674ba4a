import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, inRoot } from '../lib/paths.mjs';
import { say, withProgress } from '../lib/progress.mjs';
import { runChild } from '../lib/run-child.mjs';
import { readStamp, writeWhole } from '../lib/stamp.mjs';
import { onPath } from './on-path.mjs';

const DEFAULT_VERSION = '1.5.1';
/** The first build takes minutes, and a build that was cut short begins anew under another name. */
const binDir = () => join(cacheDir(), 'bin');

/** Gets the Temporal CLI, the engine of the one-machine default, unless a Temporal is named or there already. */
export async function getTemporalCli() {
  if (process.env.TEMPORAL_ADDRESS) return;
  const version = wantedVersion(readStamp(inRoot('temporal-dev.yaml')) ?? '');
  const binary = join(binDir(), 'temporal');
  // A binary without a stamp was put there by hand, and is taken at its word.
  const built = readStamp(`${binary}.version`) ?? version;
  if (existsSync(binary) && built === version) return;
  if (onPath('temporal')) return;
  if (!onPath('go')) {
    say('  · no Temporal CLI and no Go here: the service downloads a Temporal server at its first start.');
    return;
  }
  await withProgress(`building the Temporal CLI ${version} (go install; minutes, once for this machine)`, () =>
    goInstall(version, binary),
  );
}

/** @param {string} settings the text of temporal-dev.yaml; read by hand, since no package is there yet */
export function wantedVersion(settings) {
  return /^version:\s*["']?v?(\d+\.\d+\.\d+)/m.exec(settings)?.[1] ?? DEFAULT_VERSION;
}

/** @param {string} version @param {string} binary */
async function goInstall(version, binary) {
  const folder = join(binDir(), `.building-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    const { code, output } = await runChild('go', ['install', `github.com/temporalio/cli/cmd/temporal@v${version}`], {
      cwd: folder,
      env: { GOBIN: folder, GOFLAGS: '' },
    });
    if (code !== 0) {
      say(`${output.trim()}\n  · \`go install\` ended with ${code}: the service downloads a Temporal server instead.`);
      return;
    }
    renameSync(join(folder, 'temporal'), binary);
    writeWhole(`${binary}.version`, version);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
