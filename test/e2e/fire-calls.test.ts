import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFire } from '../support/fire.js';

let fire: Awaited<ReturnType<typeof createFire>>;
beforeAll(async () => {
  fire = await createFire('shared');
});
afterAll(() => fire.close());

/**
 * Where the calls of an agent may be cut: before one is made, between it and its record, and among parallel ones. As many
 * as make one call suspect, and one more.
 */
const POINTS = ['model-started', 'tool-done*2', 'tool-started*2', 'model-answered*2'];

test(`security 4: a run whose service is killed at ${POINTS.join(', ')}, which Temporal notices by itself, completes; no recorded call is made twice, no effect repeats`, {
  timeout: 600_000,
}, async () => {
  const { service, ended } = await fire.survive(POINTS, { reports: false });
  for (const { id, run } of ended) {
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(await fire.audit(service, id)).toEqual([]);
  }
  const cut = await service.db.query<{ estimated: number; interrupted: number }>(
    `SELECT (SELECT count(*) FROM usage WHERE run_id = ANY($1) AND estimated)::int AS estimated,
      (SELECT count(*) FROM call WHERE run_id = ANY($1) AND state = 'interrupted')::int AS interrupted`,
    [ended.map(({ id }) => id)],
  );
  // What was cut between start and record: a model call of this run, and acting calls that the model was told of.
  const atLeast = (least: number) => expect.toSatisfy((count: number) => count >= least);
  expect(cut).toEqual([{ estimated: atLeast(1), interrupted: atLeast(2) }]);
});
