import { readlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isRunning, readProcStat } from '../../src/shared/proc-stat.js';
import { spawnProcess } from '../../src/shared/spawn-process.js';

test.runIf(process.platform === 'linux')(
  'a process is read by its pid, whatever its name holds, until it is gone',
  async () => {
    const child = spawnProcess('/bin/bash', ['-c', 'printf "a) Z 1 (b" > /proc/$$/comm; echo named; read'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    const { pid = 0 } = child;
    const stat = readProcStat(pid);
    expect(stat).toMatchObject({ parent: process.pid, group: pid });
    expect(stat && isRunning(stat)).toBe(true);
    expect(stat?.startTicks).toBeGreaterThanOrEqual(readProcStat(process.pid)?.startTicks ?? 0n);
    child.stdin?.end();
    await ended;
    expect(readProcStat(pid)).toBeNull();
  },
);

test.runIf(process.platform === 'linux')('a thread is read by what /proc/thread-self names', () => {
  const own = readProcStat(readlinkSync('/proc/thread-self'));
  expect(own?.parent).toBe(readProcStat(process.pid)?.parent);
  expect(own?.cpuTicks).toBeGreaterThanOrEqual(0);
});
