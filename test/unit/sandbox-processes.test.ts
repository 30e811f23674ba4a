import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import {
  findOrphans,
  isAlive,
  isWorkerAlive,
  killProcess,
  lookUpProcess,
  waitUntilGone,
  workerIdentity,
} from '../../src/sandbox/process-table.js';

test('a process is known by its number and its start, and its end is seen', async () => {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const found = lookUpProcess(child.pid ?? 0);
  if (!found) throw new Error('sleep did not start');
  expect(isAlive(found)).toBe(true);
  expect(isAlive({ ...found, ticks: found.ticks + 1n })).toBe(false);
  const worker = `w@${found.pid}.${found.ticks}`;
  expect([isWorkerAlive(worker), isWorkerAlive(`w@${found.pid}.1`), isWorkerAlive('w')]).toEqual([true, false, false]);
  const exited = once(child, 'exit');
  killProcess(found.pid, false);
  expect(await waitUntilGone([found], 60_000)).toBe(true);
  await exited;
  expect([lookUpProcess(found.pid), isWorkerAlive(worker)]).toEqual([null, false]);
  killProcess(found.pid, false);
  expect(isWorkerAlive(workerIdentity('me'))).toBe(true);
});

test('what survives the leader of its group is found, but no group that took its number later', async () => {
  const leader = spawn('bash', ['-c', 'sleep 1000 & echo $!; read -r; exit'], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // It leads until it is told to go: on a busy machine it would be gone before it was looked at.
  const self = lookUpProcess(leader.pid ?? 0);
  if (!self) throw new Error('bash did not start');
  const exited = once(leader, 'exit');
  const [line] = (await once(leader.stdout, 'data')) as [Buffer];
  leader.stdin.end('\n');
  await exited;
  const orphan = Number(line.toString());
  expect(findOrphans(self).map(({ pid }) => pid)).toEqual([orphan]);
  expect(findOrphans({ ...self, ticks: self.ticks - 5_000n })).toEqual([]);
  killProcess(orphan, false);
});
