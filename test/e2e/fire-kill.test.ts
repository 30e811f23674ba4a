import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFire } from '../support/fire.js';
import { HELD_SECONDS } from '../support/fire-flow.js';
import { processesWith } from '../support/host-processes.js';
import { driveRun, serverPid } from '../support/service.js';

let fire: Awaited<ReturnType<typeof createFire>>;
beforeAll(async () => {
  // Half a second a model call, so that there is a middle of a step to be killed in.
  fire = await createFire('own', 500);
});
afterAll(() => fire.close());

/** The runs end well, and the doctor finds nothing. */
async function expectWell(service: Awaited<ReturnType<typeof fire.start>>, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const run = await driveRun(service, { workspace: fire.workspace(), id });
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(await fire.audit(service, id)).toEqual([]);
  }
}

test('security 1: killed with one run in step 2 and one at its gate, and with Temporal down, all complete, each recorded call made once', async () => {
  const service = await fire.start();
  const workspace = fire.workspace();
  const parked = await service.start(workspace, 'gate');
  await expect.poll(async () => (await service.run(workspace, parked)).status).toBe('awaiting-approval');
  const working = await service.start(workspace, 'three');
  await expect.poll(async () => (await service.run(workspace, working)).steps[1]?.status).toBe('running');
  process.kill(await serverPid(fire.dataDir, 'temporal'), 'SIGKILL');
  const queued = await service.start(workspace, 'three');
  await service.kill9();
  const made = [...fire.provider.byKey()].filter(([key]) => /\/(one|first)\//.test(key));
  const again = await fire.start();
  await expectWell(again, [working, parked, queued]);
  // Only the call that was in flight was made again: those of step 1 were recorded.
  const now = fire.provider.byKey();
  expect(made.filter(([key]) => key.startsWith(working) || key.startsWith(parked))).toHaveLength(2);
  for (const [key] of made) expect([key, now.get(key)]).toEqual([key, 1]);
  await again.stop();
});

test('security 1: with Temporal down a start is answered 202, the run stays queued, and it completes when Temporal is back', async () => {
  const service = await fire.start();
  const workspace = fire.workspace();
  const temporal = await serverPid(fire.dataDir, 'temporal');
  process.kill(temporal, 'SIGSTOP');
  // What answers while nobody there can has not waited for it.
  const id = await service.start(workspace, 'three');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect((await service.run(workspace, id)).status).toBe('queued');
  // Gone altogether: the service starts it again by itself.
  process.kill(temporal, 'SIGKILL');
  const second = await service.start(workspace, 'three');
  await expectWell(service, [id, second]);
  await service.stop();
});

test('security 4: the next start ends the programs that a killed service left, and removes the folders of runs that ended', async () => {
  // Without a sandbox nothing dies with its parent: what is left is really left.
  const sandbox = { SERVICE_SANDBOX: 'none' };
  const mark = `sleep\0${HELD_SECONDS}`;
  const service = await fire.start({ ...sandbox, SERVICE_FAILPOINT: 'step-done-before-report' });
  const workspace = fire.workspace();
  const held = await service.start(workspace, 'hold');
  await expect.poll(() => processesWith(mark).length).toBeGreaterThan(0);
  const ended = await service.start(workspace, 'inner');
  expect(await service.exited).toBe(null);
  const left = processesWith(mark);
  expect(left.length, 'otherwise there is nothing to end').toBeGreaterThan(0);
  expect(existsSync(join(fire.dataDir, 'scratch', ended)), 'otherwise there is nothing to remove').toBe(true);
  const again = await fire.start(sandbox);
  expect(processesWith(mark).filter((pid) => left.includes(pid))).toEqual([]);
  expect(existsSync(join(fire.dataDir, 'scratch', ended))).toBe(false);
  expect(await again.db.query('SELECT pid FROM sandbox_process WHERE run_id = $1', [held])).toEqual([]);
  await expectWell(again, [held, ended]);
  await again.stop();
});

test('with Postgres down the API answers 503 with Retry-After, and the runs in flight go on when it is back', async () => {
  const service = await fire.start();
  const workspace = fire.workspace();
  const id = await service.start(workspace, 'three');
  await expect.poll(async () => (await service.run(workspace, id)).steps[0]?.status).toBe('running');
  process.kill(await serverPid(fire.dataDir, 'postgres'), 'SIGKILL');
  const answer = await service.request(`/api/workspaces/${workspace}/runs/${id}`);
  expect([answer.status, Number(answer.headers.get('retry-after'))]).toEqual([503, expect.toSatisfy((s) => s > 0)]);
  const back = async () => (await service.request('/api/workspaces').catch(() => null))?.status;
  await expect.poll(back).toBe(200);
  const run = await driveRun(service, { workspace, id });
  expect(run).toMatchObject({ status: 'completed', error: null });
  // Its answers were kept while there was nowhere to write them: no call was made twice.
  expect([...fire.provider.byKey()].filter(([key, count]) => key.startsWith(id) && count !== 1)).toEqual([]);
  await service.stop();
});

test('security 22: a program dies with its service, leaves the register at the restart, and the model is told of the interruption', async () => {
  const mark = `sleep\0${HELD_SECONDS}`;
  const service = await fire.start();
  const workspace = fire.workspace();
  const id = await service.start(workspace, 'hold');
  await expect.poll(() => processesWith(mark).length).toBe(1);
  await service.kill9();
  await expect.poll(() => processesWith(mark)).toEqual([]);
  const again = await fire.start();
  expect(await again.db.query('SELECT pid FROM sandbox_process WHERE run_id = $1', [id])).toEqual([]);
  await expectWell(again, [id]);
  const [told] = fire.provider.calls.filter(({ idempotencyKey }) => idempotencyKey === `${id}/hold/0/1/1/1`);
  expect(told?.body.messages.at(-1)).toMatchObject({ role: 'tool', content: 'interrupted, may have partly run' });
  expect(processesWith(mark)).toEqual([]);
  await again.stop();
});

test('fifty starts at once are all taken, and with Postgres down all of them are told 503', async () => {
  const service = await fire.start();
  const workspace = fire.workspace();
  const startAll = () =>
    Promise.all(
      Array.from({ length: 50 }, async () => {
        const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{ "task": "go" }' };
        return (await service.request(`/api/workspaces/${workspace}/flows/nap/run`, init)).status;
      }),
    );
  // The first fifty open the connections.
  await startAll();
  expect(await startAll()).toEqual(Array(50).fill(202));
  process.kill(await serverPid(fire.dataDir, 'postgres'), 'SIGKILL');
  expect(await startAll()).toEqual(Array(50).fill(503));
  const back = async () => (await service.request('/api/workspaces').catch(() => null))?.status;
  await expect.poll(back).toBe(200);
  await service.stop();
});

test('a service that is ended while it takes starts ends in order, and every run that it took begins', async () => {
  const taken: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    const service = await fire.start();
    const starts = Array.from({ length: 50 }, async () => {
      const id = await service.start(fire.workspace(), 'nap').catch(() => null);
      if (id !== null) taken.push(id);
    });
    await Promise.race(starts);
    expect(await service.end('SIGTERM')).toBe(0);
    await Promise.all(starts);
  }
  const last = await fire.start();
  const open = async () => {
    const sql = `SELECT id FROM run WHERE id = ANY($1) AND status = 'queued'`;
    return last.db.query(sql, [taken]);
  };
  await expect.poll(open).toEqual([]);
  await last.stop();
});
