import { execFile } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
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
  // A start that is refused for its settings has read the modules, and exits. Only a worker reads those of its SDK.
  const { PATH = '' } = readEnvironment();
  const env = { PATH, MAKE_CODE_CACHE: '1', SERVICE_ROLE: 'none' };
  const flags = [...NODE_FLAGS, '--import', '@temporalio/worker'];
  await run(process.execPath, [...flags, MAIN], { cwd: packageRoot, env }).catch(() => undefined);
  const isOld = (name: string) => name.startsWith('.code-cache-') && name !== basename(file);
  for (const name of readdirSync(dirname(file)).filter(isOld)) rmSync(join(dirname(file), name), { force: true });
}
