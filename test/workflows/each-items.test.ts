import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

const WORKER = { 'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n' };
const NAMES = 'input: { names(array): string }\n';
const ITEMS = '## All @worker\n\n- each: input.names\n- on_fail: continue\n\nGreet {{item}}.';

/** The second item's provider refuses; what the later steps are asked is kept. */
function refuseSecond(): void {
  provider.respond(({ idempotencyKey }) => {
    const [, step = '', item = ''] = (idempotencyKey ?? '').split('/');
    if (step === 'all' && item === '2') return { status: 400, body: '{"error":{"message":"no such person"}}' };
    return { text: `${step} ${item}` };
  });
}

const promptOf = (id: string, step: string) =>
  provider.calls.find(({ idempotencyKey }) => idempotencyKey?.startsWith(`${id}/${step}/`))?.prompt ?? '';

test('later steps read how each item ended, in conditions and in texts, and the trace says which item', async () => {
  refuseSecond();
  const body = `${ITEMS}

## Bad @worker

- when: steps.all.items[1].status == 'failed' && steps.all.items[1].error.contains('no such person')

It says {{steps.all.items.1.error}} of {{steps.all.items}}.

## Good @worker

- when: steps.all.items.all(one, one.status == 'completed')

Go.

## Again @worker

- each: steps.all.items.filter(one, one.status == 'failed')
- as: failed

Mend {{failed.error}}.`;
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(body, NAMES) });
  const id = await app.start(workspace, 'f', { task: { names: ['Ada', 'Bo', 'Cy'] } });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', error: null });
  const [all, bad, good, again] = run.steps;
  expect(all?.data).toEqual(['all 1', null, 'all 3']);
  expect(all?.items?.map(({ status }) => status)).toEqual(['completed', 'failed', 'completed']);
  expect([bad?.status, good?.status]).toEqual(['completed', 'skipped']);
  expect(promptOf(id, 'bad')).toMatch(/It says .*no such person.* of \[\{/);
  expect(again?.data).toEqual(['again 1']);
  expect(promptOf(id, 'again')).toContain('no such person');
  const failed = all?.trace.filter(({ kind }) => kind === 'step.failed' || kind === 'model.failed');
  expect(failed?.map(({ item }) => item)).toEqual([2, 2]);
  const told = all?.trace.filter(({ item }) => item === undefined).map(({ kind }) => kind);
  expect(told).toEqual(['step.started', 'step.completed']);
});

test('a rerun past the step takes over how its items ended, and a step that fails for an item tells it too', async () => {
  refuseSecond();
  const body = `${ITEMS.replace('continue', 'stop')}\n\n## After @worker\n\n- when: size(steps.all.items) == 3\n\nGo.`;
  const workspace = await app.workspace({
    ...WORKER,
    'flows/f.md': flow(body, NAMES),
    'flows/g.md': flow(`${ITEMS}\n\n## After @worker\n\n- when: steps.all.items[1].status == 'failed'\n\nGo.`, NAMES),
  });
  const task = { names: ['Ada', 'Bo', 'Cy'] };
  const failed = await app.ended(workspace, await app.start(workspace, 'f', { task }));
  expect(failed.status).toBe('failed');
  const first = await app.start(workspace, 'g', { task });
  expect((await app.ended(workspace, first)).steps[1]?.status).toBe('completed');
  const response = await app.post(`/api/workspaces/${workspace}/runs/${first}/rerun`, { step: 2 });
  const { runId } = (await response.json()) as { runId: string };
  expect((await app.ended(workspace, runId)).steps[1]).toMatchObject({ status: 'completed' });
});

test('no items, and a step without items: the first is an empty list, the second is refused at deploy', async () => {
  refuseSecond();
  const after = '## After @worker\n\n- when: steps.all.items == []\n\nGo.';
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(`${ITEMS}\n\n${after}`, NAMES) });
  const run = await app.ended(workspace, await app.start(workspace, 'f', { task: { names: [] } }));
  expect(run.steps[1]?.status).toBe('completed');
  const files = { ...WORKER, 'flows/f.md': flow('## One @worker\n\nGo.\n\n## Two @worker\n\n{{steps.one.items}}') };
  const refused = await app.post(`/api/workspaces/${workspace}/deploy`, {
    files: Object.entries(files).map(([path, content]) => ({ path, content })),
  });
  expect(refused.status).toBe(422);
  expect(await refused.text()).toContain('there is no `items` here');
});
