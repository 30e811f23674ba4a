import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createProcessTree, endTree } from '../../scripts/lib/process-tree.mjs';
import { isAlive, lines, ps } from '../support/child-programs.js';

const module = new URL('../../scripts/lib/process-tree.mjs', import.meta.url).href;

/** A program that starts another in a group of its own, tells both numbers, and heeds no signal that can be heeded. */
const STUBBORN = `for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => {}); setInterval(() => {}, 1000); console.log(process.pid);`;
/** One that ends when it is asked to. */
const PLAIN = 'setInterval(() => {}, 1000); console.log(process.pid)';
const starting = (script: string, then = STUBBORN) =>
  `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(script)}], { stdio: 'inherit', detached: true }); ${then}`;

test('one whose parent has gone is known still, as is what it starts later, and all are ended', async () => {
  const root = spawn(process.execPath, ['-e', starting(starting(STUBBORN))]);
  const pids = (await lines(root, 3)).map(Number);
  const tree = createProcessTree(root.pid ?? -1);
  expect(tree.look().sort()).toEqual([...pids].sort());
  const middle = pids.find((pid) => pid !== root.pid && parentOf(pid) === root.pid) ?? -1;
  process.kill(middle, 'SIGKILL');
  await expect.poll(() => tree.look()).toHaveLength(2);
  expect(await endTree(tree, 100)).toBe(2);
  expect(pids.map(isAlive)).toEqual([false, false, false]);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'after %s nothing is left of what the tests started, in whatever group it is',
  async (signal) => {
    const tests = JSON.stringify(starting(starting(PLAIN, PLAIN), PLAIN));
    const script = `import { runTree } from ${JSON.stringify(module)};
      process.exitCode = (await runTree(process.execPath, ['-e', ${tests}])).code;`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script]);
    onTestFinished(() => void parent.kill('SIGKILL'));
    const pids = (await lines(parent, 3)).map(Number);
    expect(pids.map(isAlive)).toEqual([true, true, true]);
    parent.kill(signal);
    const [code] = await once(parent, 'exit');
    expect(code).toBe(signal === 'SIGTERM' ? 143 : 130);
    expect(pids.map(isAlive)).toEqual([false, false, false]);
  },
  30_000,
);

const parentOf = (pid: number): number => Number(ps('ppid', pid));
