import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';
import { testDatabase } from './postgres.js';
import type { TestSandbox } from './test-sandbox.js';

/** Starts a worker process that runs `command` in a sandbox, and answers once the command has said READY. */
export async function startSandboxWorker(
  { work, runId }: Pick<TestSandbox, 'work' | 'runId'>,
  command: string,
): Promise<ChildProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-worker-'));
  await chmod(folder, 0o711);
  const outfile = join(folder, 'worker.mjs');
  await build({
    entryPoints: [new URL('sandbox-worker.ts', import.meta.url).pathname],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['pg-native'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  });
  const child = spawn(process.execPath, [outfile, testDatabase(), folder, work, runId, command], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => chunk.toString('utf8').includes('READY') && resolve());
    child.once('exit', (code) => reject(new Error(`the worker ended with ${code} before its program was ready`)));
  });
  return child;
}
