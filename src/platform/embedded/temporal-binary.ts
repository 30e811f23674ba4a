import { accessSync, constants, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { within } from '../../shared/deadline.js';
import { errorMessage } from '../../shared/refusal.js';
import { spawnProcess } from '../../shared/spawn-process.js';
import { endWithProcess } from './child.js';
import { StartError } from './start-error.js';

const PATIENCE_MS = 180_000;

const MODULE = 'github.com/temporalio/cli/cmd/temporal';

const PROGRESS_EVERY_MS = 15_000;

export interface Acquire {
  readonly version: string;
  /** The folder of programs in the user's cache. */
  readonly binFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly progress: (text: string) => void;
}

/** The user's cache folder by the XDG base directory specification, and our programs in it. */
export function cacheBinFolder(environment: Acquire['environment']): string {
  return join(environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache'), 'signalbox', 'bin');
}

/**
 * Finds the Temporal CLI: in the cache, on PATH, by the SDK's download, by `go install`. Downloads and builds stay in
 * the cache. (With TEMPORAL_ADDRESS, which takes precedence, no server is started.)
 */
export async function findTemporal(acquire: Acquire): Promise<string> {
  const ready = [acquire.binFolder, ...(acquire.environment.PATH ?? '').split(delimiter)]
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'temporal'))
    .find(isExecutable);
  if (ready) return ready;
  const failures: string[] = [];
  for (const get of [downloadTemporal, goInstallTemporal]) {
    try {
      return await get(acquire);
    } catch (error) {
      failures.push(errorMessage(error));
    }
  }
  throw new StartError(
    [
      'Signalbox needs the Temporal command line, and none was found in any of five places:',
      '(1) TEMPORAL_ADDRESS is not set, so no running Temporal is used;',
      `(2) ${join(acquire.binFolder, 'temporal')} does not exist;`,
      '(3) there is no `temporal` on PATH;',
      `(4) the download failed: ${failures[0]};`,
      `(5) \`go install\` failed: ${failures[1]}.`,
      'Install the command line (https://docs.temporal.io/cli), or set TEMPORAL_ADDRESS, then start again.',
    ].join(' '),
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Downloads the CLI by the SDK. The SDK can only start what it downloads, so an in-memory server is started and ended
 * at once; then the program moves from the draft folder into the cache.
 */
export async function downloadTemporal({ version, binFolder, progress }: Acquire): Promise<string> {
  await mkdir(binFolder, { recursive: true });
  const downloadDir = await mkdtemp(join(binFolder, '.download-'));
  progress(`Downloading Temporal ${version} …`);
  try {
    await startOnce(downloadDir, version);
    const name = (await readdir(downloadDir)).find((each) => each.startsWith('temporal'));
    if (name === undefined) throw new Error('the download left no program');
    await chmod(join(downloadDir, name), 0o755);
    await rename(join(downloadDir, name), join(binFolder, 'temporal'));
    return join(binFolder, 'temporal');
  } finally {
    await rm(downloadDir, { recursive: true, force: true });
  }
}

async function startOnce(downloadDir: string, version: string): Promise<void> {
  // Import on demand: loading the test environment takes a third of a second, which other starts need not spend.
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const starting = TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir, version: `v${version}` }, ip: '127.0.0.1' },
  });
  const late = () => Promise.reject(new Error(`it took longer than ${PATIENCE_MS / 1_000} s`));
  await (await within(starting, PATIENCE_MS, late)).teardown();
}

/** Builds the CLI from source into the cache folder, if this machine has Go. */
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
    // Rename the complete program, so that another start never finds an incomplete one.
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
    let output = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(-2_000);
    });
    child.once('error', (error) => {
      const isMissing = 'code' in error && error.code === 'ENOENT';
      reject(new Error(isMissing ? 'there is no `go` on PATH' : errorMessage(error)));
    });
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(output.trim().split('\n').at(-1) || `exit code ${code}`));
    });
  });
}
