import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFire } from '../support/fire.js';
import type { DrivenService } from '../support/service.js';
import { mostCalling } from '../support/slots.js';

let fire: Awaited<ReturnType<typeof createFire>>;
beforeAll(async () => {
  fire = await createFire('shared', 60);
});
afterAll(() => fire.close());

const POINTS = [
  'run-committed',
  'slot-taken',
  'slot-waiting',
  'slot-unneeded',
  'parked',
  'model-started',
  'outbox-sent',
  'signal-sent',
];

/** Starts some runs; the service may die before it has answered all of them. */
async function startSome(service: DrivenService, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, () => service.start(fire.workspace(), 'slots', { task: 'go' }).catch(() => null)),
  );
}

/** Starts runs until the service has died at its point: how often some runs come by it depends on who is quicker. */
async function startUntilDead(service: DrivenService): Promise<void> {
  let dead = false;
  void service.exited.then(() => {
    dead = true;
  });
  while (!dead) {
    await startSome(service, 5);
    const isIdle = () =>
      live(service).then(
        (runs) => runs.length === 0,
        () => dead,
      );
    while (!dead && !(await isIdle())) await Promise.race([service.exited, wait(200)]);
  }
}

const live = (service: DrivenService) =>
  service.db.query(`SELECT 1 FROM run WHERE flow = 'slots' AND finished_at IS NULL`);
const rows = (service: DrivenService) => service.db.query('SELECT 1 FROM slot UNION ALL SELECT 1 FROM slot_lane');

test('killed at every point of its life, a service keeps no slot that nobody needs, and never gives out more than there are', async () => {
  for (const point of POINTS) {
    const service = await fire.start({ SERVICE_FAILPOINT: `${point}*3` }).catch(() => null);
    if (service !== null) await startUntilDead(service);
    await fire.reportDeaths();
  }
  const service = await fire.start();
  await startSome(service, 2);
  await expect.poll(async () => (await live(service)).length, { interval: 200 }).toBe(0);
  const ended = await service.db.query<{ status: string }>(`SELECT status FROM run WHERE flow = 'slots'`);
  expect(ended.length).toBeGreaterThan(POINTS.length);
  expect(new Set(ended.map((run) => run.status))).toEqual(new Set(['completed']));
  expect(await mostCalling(service.db, 'slots')).toBe(2);
  await expect.poll(async () => (await rows(service)).length).toBe(0);
}, 400_000);
