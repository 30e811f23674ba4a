import { spawn } from 'node:child_process';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hostIdentity, isAlive, lookUpProcess, workerIdentity } from '../../src/sandbox/process-table.js';
import { newId } from '../../src/shared/ids.js';
import { processesWith } from '../support/host-processes.js';
import { endsWithin } from '../support/in-time.js';
import { startSandboxWorker } from '../support/start-sandbox-worker.js';
import { testDb } from '../support/test-db.js';
import { createTestSandbox, registered } from '../support/test-sandbox.js';

test('a stop kills a program wherever it is, 40 times out of 40, and leaves nothing', async () => {
  const { sandbox, bash, runId } = await createTestSandbox();
  const mark = `96${Date.now()}`;
  for (let round = 0; round < 40; round += 1) {
    // From before the program exists to long after it has started children that left its group.
    const running = bash(`setsid sleep ${mark} & trap "" TERM; sleep ${mark} & sleep ${mark}`, { timeoutMs: null });
    await new Promise((resolve) => setTimeout(resolve, round * 1.5));
    // It is dead when this ends, and nobody asked it to end: it heeds no such word.
    expect(await endsWithin(5_000, sandbox.kill(runId))).toBe(true);
    expect(await running).toMatchObject({ killed: 'stopped', exitCode: null });
    expect(processesWith(mark)).toEqual([]);
  }
  expect(await registered(runId)).toEqual([]);
});

test('a stop of one lane leaves the others alone', async () => {
  const { sandbox, bash, runId } = await createTestSandbox();
  const other = bash('sleep 0.5; echo done', { owner: { runId, lane: 'group.1' } });
  const main = bash('sleep 1000');
  await sandbox.kill(runId, 'main');
  expect((await main).killed).toBe('stopped');
  expect(await other).toMatchObject({ killed: null, stdout: 'done\n' });
});

test('an aborted signal stops a program, also one that was aborted before it began', async () => {
  const { bash, work } = await createTestSandbox();
  const signal = AbortSignal.abort();
  expect((await bash('touch acted', { signal })).killed).toBe('stopped');
  await expect(stat(join(work, 'acted'))).rejects.toThrow('ENOENT');
});

test('a program is registered before it acts', async () => {
  const { bash, runId } = await createTestSandbox();
  const controller = new AbortController();
  let rows: Promise<unknown[]> | undefined;
  const running = bash('echo acting; sleep 1000', {
    signal: controller.signal,
    onOutput: () => {
      rows ??= registered(runId);
      void rows.then(() => controller.abort());
    },
  });
  await running;
  expect(await rows).toHaveLength(1);
});

test('security 4: when its worker is killed nothing of a sandbox survives, and the reaper removes what it left', async () => {
  const lane = await createTestSandbox();
  const mark = `95${Date.now()}`;
  const worker = await startSandboxWorker(lane, `setsid sleep ${mark} & echo READY; sleep ${mark}`);
  expect(processesWith(mark).length).toBeGreaterThan(0);
  expect(await registered(lane.runId)).toHaveLength(1);

  await lane.sandbox.reap();
  expect(await registered(lane.runId), 'a living worker keeps its row').toHaveLength(1);

  worker.kill('SIGKILL');
  await expect.poll(() => processesWith(mark)).toEqual([]);
  await lane.sandbox.reap();
  expect(await registered(lane.runId)).toEqual([]);
});

/** A registered process that no worker looks after, as a crash between two instructions may leave it. */
async function leaveBehind(runId: string, worker: string) {
  const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const found = lookUpProcess(child.pid ?? 0);
  if (!found) throw new Error('sleep did not start');
  const insert = (ticks: bigint) =>
    testDb().query(
      `INSERT INTO sandbox_process (id, run_id, lane, worker_id, host, pid, ticks, dir) VALUES ($1, $2, 'main', $3, $4, $5, $6, '')`,
      [newId(), runId, worker, hostIdentity(), found.pid, ticks.toString()],
    );
  return { process: found, insert };
}

test('the reaper kills a registered process whose worker is gone', async () => {
  const { sandbox, runId } = await createTestSandbox();
  const { process: left, insert } = await leaveBehind(runId, 'gone@2147483000.1');
  await insert(left.ticks);
  await sandbox.reap();
  expect(isAlive(left)).toBe(false);
  expect(await registered(runId)).toEqual([]);
});

test('the reaper never kills a process that was given the same number later', async () => {
  const { sandbox, runId } = await createTestSandbox();
  const { process: other, insert } = await leaveBehind(runId, 'gone@2147483000.1');
  await insert(other.ticks - 5n);
  await sandbox.reap();
  expect(isAlive(other)).toBe(true);
  expect(await registered(runId)).toEqual([]);
});

test('the reaper leaves what another living worker of the host runs', async () => {
  const { sandbox, runId } = await createTestSandbox();
  const worker = spawn('sleep', ['1000'], { stdio: 'ignore' });
  onTestFinished(() => void worker.kill('SIGKILL'));
  const { process: busy, insert } = await leaveBehind(
    runId,
    `other@${worker.pid}.${lookUpProcess(worker.pid ?? 0)?.ticks}`,
  );
  await insert(busy.ticks);
  await sandbox.reap();
  expect(isAlive(busy)).toBe(true);
  expect(workerIdentity('x')).toMatch(/^x@\d+\.\d+$/);
  await testDb().query('DELETE FROM sandbox_process WHERE run_id = $1', [runId]);
});

test('the reaper removes folders of runs that have ended, whatever their rights, and keeps those of programs', async () => {
  const { sandbox, bash, dataDir, work } = await createTestSandbox();
  const ended = join(dataDir, 'scratch', newId());
  await mkdir(join(ended, 'main', 'work', 'closed'), { recursive: true, mode: 0o000 });
  const running = bash('sleep 0.3; echo still here > file; cat file');
  await sandbox.reap();
  await expect(stat(ended)).rejects.toThrow('ENOENT');
  expect(await running).toMatchObject({ stdout: 'still here\n' });
  expect((await stat(work)).isDirectory()).toBe(true);
});
