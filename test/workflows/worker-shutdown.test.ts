import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { distDir, packageRoot } from '../../src/platform/db/index.js';
import { testTemporal } from '../support/temporal.js';

test('a worker shuts down while eager starts are under way on its connection, and every start is answered', async () => {
  const outfile = join(distDir, `.shutdown-test-${process.pid}.mjs`);
  onTestFinished(() => rm(outfile, { force: true }));
  await build({
    entryPoints: [join(packageRoot, 'test/support/shutdown-process.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  });
  const { address, namespace } = testTemporal();
  // A process of its own: one that is blocked can only be killed.
  const child = spawn(process.execPath, [outfile, address, namespace, join(distDir, 'workflows.js')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 150_000,
    killSignal: 'SIGKILL',
  });
  expect(await once(child, 'close')).toEqual([0, null]);
});
