import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { runChild } from '../../scripts/lib/run-child.mjs';

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
  'after %s no child is left, not even one that does not heed it',
  async (signal) => {
    const stubborn = `for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => {}); setInterval(() => {}, 1000); console.log(process.pid)`;
    const parent = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { endChildrenOnSignal, runChild } from ${JSON.stringify(module)};
       endChildrenOnSignal();
       await runChild(process.execPath, ['-e', ${JSON.stringify(stubborn)}], { show: true });
       console.log('nobody is told of an end that we asked for');`,
    ]);
    const child = Number(await firstLine(parent));
    expect(isAlive(child)).toBe(true);
    parent.kill(signal);
    const [code] = await once(parent, 'exit');
    expect(code).toBe(signal === 'SIGTERM' ? 143 : 130);
    expect(isAlive(child)).toBe(false);
  },
  15_000,
);

async function firstLine(process: ChildProcess): Promise<string> {
  if (!process.stdout) throw new Error('the process was started without a pipe');
  const [chunk] = await once(process.stdout, 'data');
  return String(chunk).trim();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
