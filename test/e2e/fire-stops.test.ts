import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFire } from '../support/fire.js';
import { runDoctor } from '../support/run-doctor.js';

let fire: Awaited<ReturnType<typeof createFire>>;
beforeAll(async () => {
  fire = await createFire('shared');
});
afterAll(() => fire.close());

/** Where a run is handed from one hand to another: rows to Temporal, a lane to its parks, forks and children. */
const STARTING = ['run-committed', 'outbox-sent', 'lane-claimed', 'forked', 'step-done-before-report*3'];
const WAITING = ['parked', 'decision-committed', 'signal-sent', 'parked', 'decision-committed', 'parked'];
const ENDING = ['step-done-before-report*2', 'step-done-before-report'];
const POINTS = [...STARTING, ...WAITING, ...ENDING];

test(`security 1, 2, 4: a run whose service is killed at ${POINTS.join(', ')} completes; nothing is lost or done twice`, {
  timeout: 900_000,
}, async () => {
  const { service, ended } = await fire.survive(POINTS);
  for (const { id, run } of ended) {
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(await fire.audit(service, id)).toEqual([]);
  }
  expect(await runDoctor(fire.env)).toEqual({ code: 0, findings: [] });
});
