import { execFile } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '../../src/platform/config/index.js';
import { distDir, packageRoot } from '../../src/platform/db/index.js';
import { codeCacheFile } from './code-cache-file.mjs';

const run = promisify(execFile);

/** How Node is told to start dist/main.js, before what is for the service itself. */
export const NODE_FLAGS: readonly string[] = ['--import', join(packageRoot, 'test/support/code-cache.mjs')];
export const MAIN = join(distDir, 'main.js');

/** Brings dist/ up to date, and the compiled code of its modules, which NODE_FLAGS make use of. */
export async function buildService(): Promise<void> {
  const build = "const { buildBundle } = await import('./scripts/setup/bundle.mjs'); await buildBundle();";
  await run(process.execPath, ['--input-type=module', '-e', build], { cwd: packageRoot });
  const file = codeCacheFile();
  if (existsSync(file)) return;
  // A worker without a database has read the modules of every role, and exits.
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-code-cache-'));
  const { PATH = '' } = readEnvironment();
  const nowhere = { DATABASE_URL: 'postgresql://127.0.0.1:1/none', TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const env = { PATH, MAKE_CODE_CACHE: '1', SERVICE_ROLE: 'worker', SERVICE_DATA_DIR: dataDir, ...nowhere };
  await run(process.execPath, [...NODE_FLAGS, MAIN], { cwd: packageRoot, env }).catch(() => undefined);
  await rm(dataDir, { recursive: true, force: true });
  const isOld = (name: string) => name.startsWith('.code-cache-') && name !== basename(file);
  for (const name of readdirSync(dirname(file)).filter(isOld)) rmSync(join(dirname(file), name), { force: true });
}
