import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/platform/db/index.js';

/** A process that arms the guard, then does this. */
async function guarded(ms: number, then: string, hasReader = true) {
  const contents = `import { killAfter } from './src/shared/kill-after.ts';\nkillAfter(${ms});\n${then}`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: packageRoot, loader: 'ts' },
    bundle: true,
    platform: 'node',
    write: false,
  });
  const child = spawn(process.execPath, ['-e', outputFiles[0]?.text ?? ''], { stdio: ['ignore', 'ignore', 'pipe'] });
  if (!hasReader) child.stderr.destroy();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, stderr };
}

test('a process whose main thread is blocked is killed, and says so where it can', async () => {
  const block = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
  expect(await guarded(200, block)).toEqual({
    code: null,
    signal: 'SIGKILL',
    stderr: expect.stringContaining('its main thread is blocked'),
  });
});

test('a process that ends by itself is not held up by its guard', async () => {
  expect(await guarded(600_000, 'setTimeout(() => undefined, 10);')).toEqual({ code: 0, signal: null, stderr: '' });
});

test('a process whose main thread is blocked is killed also where nothing reads what it says', async () => {
  const block = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
  expect(await guarded(200, block, false)).toMatchObject({ code: null, signal: 'SIGKILL' });
});
