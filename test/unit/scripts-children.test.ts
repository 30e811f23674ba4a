import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { runChild } from '../../scripts/lib/run-child.mjs';
import { isAlive, lines } from '../support/child-programs.js';

const module = new URL('../../scripts/lib/run-child.mjs', import.meta.url).href;

test('a program that is not there is exit code 127, and not an exception', async () => {
  expect(await runChild('signalbox-no-such-program', [])).toMatchObject({ code: 127 });
});

test('what a program says and its exit code come back', async () => {
  const script = 'console.log("out"); console.error("err"); process.exitCode = 3';
  const { code, output } = await runChild(process.execPath, ['-e', script]);
  expect(code).toBe(3);
  expect(output).toContain('out');
  expect(output).toContain('err');
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'after %s no child and no grandchild is left, not even those that do not heed it',
  async (signal) => {
    const stubborn = `for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => {}); setInterval(() => {}, 1000);`;
    const grandchild = `${stubborn} console.log(process.pid)`;
    const child = `${stubborn} require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { stdio: 'inherit' }); console.log(process.pid)`;
    const parent = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { endChildrenOnSignal, runChild } from ${JSON.stringify(module)};
       endChildrenOnSignal();
       await runChild(process.execPath, ['-e', ${JSON.stringify(child)}], { show: true });
       console.log('nobody is told of an end that we asked for');`,
    ]);
    const pids = (await lines(parent, 2)).map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    parent.kill(signal);
    const [code] = await once(parent, 'exit');
    expect(code).toBe(signal === 'SIGTERM' ? 143 : 130);
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
  },
);
