import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { noModels } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider(() => ({ text: 'ok', usage: { input: 10, output: 1 } }));
  app = await createEngineApp({
    models: { ...noModels, single: { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 } },
  });
});
afterAll(() => provider.close());

const WORKER = { 'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n' };
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** The whole view is not asked for until the end: it would be most of the work. */
async function ended(workspace: string, id: string) {
  const isOver = async () =>
    (
      await app.deps.db.query<{ over: boolean }>('SELECT finished_at IS NOT NULL AS over FROM run WHERE id = $1', [id])
    )[0]?.over;
  await expect.poll(isOver, { timeout: 180_000, interval: 100 }).toBe(true);
  return app.run(workspace, id);
}

async function gaps(id: string) {
  const [row] = await app.deps.db.query<{ gap: number; last: number }>(
    'SELECT (max(seq) - count(*))::int AS gap, max(seq)::int AS last FROM run_event WHERE run_id = $1',
    [id],
  );
  return row;
}

test('a flow of 500 steps completes, its events without a gap', async () => {
  const workspace = await app.workspace({
    ...WORKER,
    'flows/f.md': flow(
      numbers(500)
        .map((n) => `## Step ${n} @worker\n\nDo ${n}.`)
        .join('\n\n'),
    ),
  });
  const id = await app.start(workspace, 'f');
  const run = await ended(workspace, id);
  expect([run.status, run.error, run.steps.length]).toEqual(['completed', null, 500]);
  expect(await gaps(id)).toEqual({ gap: 0, last: run.lastSeq });
});

test('200 branches and a list of 1,000 at 20 at a time complete, their events without a gap', async () => {
  const workspace = await app.workspace({
    ...WORKER,
    'flows/g.md': flow(
      `## All\n\n${numbers(200)
        .map((n) => `### Branch ${n} @worker\n\nDo ${n}.`)
        .join('\n\n')}`,
    ),
    'flows/e.md': flow(
      '## Every @worker\n\n- each: input.list\n- parallel: 20\n\nDo {{item}}.',
      'input:\n  list(array): integer\n',
    ),
  });
  const group = await app.start(workspace, 'g');
  const g = await ended(workspace, group);
  expect([g.status, g.error]).toEqual(['completed', null]);
  expect(g.steps.filter(({ status }) => status === 'completed')).toHaveLength(200);
  expect(await gaps(group)).toEqual({ gap: 0, last: g.lastSeq });
  const each = await app.start(workspace, 'e', { task: { list: numbers(1_000) } });
  const e = await ended(workspace, each);
  expect([e.status, e.error]).toEqual(['completed', null]);
  expect(e.steps[0]?.items).toHaveLength(1_000);
  expect(await gaps(each)).toEqual({ gap: 0, last: e.lastSeq });
});
