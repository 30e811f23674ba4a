import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../shared/refusal.js';
import { spawnProcess } from '../../shared/spawn-process.js';
import { endWithProcess } from './child.js';
import type { Acquire } from './temporal-binary.js';

const MODULE = 'github.com/temporalio/cli/cmd/temporal';
const PROGRESS_EVERY_MS = 15_000;

/** Builds the command line from source into the cache folder, when this machine has Go. */
export async function goInstallTemporal({ version, binFolder, environment, progress }: Acquire): Promise<string> {
  await mkdir(binFolder, { recursive: true });
  const draft = await mkdtemp(join(binFolder, '.build-'));
  const began = Date.now();
  progress(`Building Temporal ${version} with Go (about three minutes, this once) …`);
  const timer = setInterval(
    () => progress(`Building Temporal … ${Math.round((Date.now() - began) / 1_000)} s`),
    PROGRESS_EVERY_MS,
  );
  try {
    await runGo(['install', `${MODULE}@v${version}`], { ...environment, GOBIN: draft });
    // Renamed when whole, so that another start never finds half a program.
    await rename(join(draft, 'temporal'), join(binFolder, 'temporal'));
    return join(binFolder, 'temporal');
  } finally {
    clearInterval(timer);
    await rm(draft, { recursive: true, force: true });
  }
}

function runGo(args: readonly string[], env: Acquire['environment']): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawnProcess('go', args, { env: { ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
    endWithProcess(child);
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-2_000);
    });
    child.once('error', (error) => {
      const isMissing = 'code' in error && error.code === 'ENOENT';
      reject(new Error(isMissing ? 'there is no `go` on PATH' : errorMessage(error)));
    });
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(said.trim().split('\n').at(-1) || `exit code ${code}`));
    });
  });
}
