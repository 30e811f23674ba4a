import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Crew, startCrew } from '../support/crew.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { readStream } from '../support/read-stream.js';

let provider: FakeProvider;
let crew: Crew;
beforeAll(async () => {
  provider = await startFakeProvider();
  crew = await startCrew(provider);
});
afterAll(() => crew.close());

const FILES = {
  'AGENTS.md': '# Shop\n\nBe brief.\n',
  'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
  'flows/one.md': flow('## One @worker\n\nDo it.'),
};

async function begin() {
  const workspace = await crew.api.workspace(FILES);
  const id = await crew.api.start(workspace, 'one');
  const ended = async () => (await crew.api.run(workspace, id)).status;
  return { workspace, id, at: `/api/workspaces/${workspace}/runs/${id}`, ended };
}

test('security 4: what a worker that was killed had streamed is taken back when its call is made anew', async () => {
  provider.respond(({ n }) =>
    n === 1
      ? { text: 'half of what the first one said', hangAfter: 5, eventDelayMs: 120 }
      : { text: 'all of what the second one said', eventDelayMs: 60 },
  );
  const killed = await crew.startWorker();
  const { at, ended } = await begin();
  const stream = readStream((init) => crew.api.request(`${at}/stream`, init));
  await expect.poll(() => stream.text()).toContain('half of');
  await killed.end('SIGKILL');
  await crew.reportDeaths();
  const next = await crew.startWorker();
  await expect.poll(ended).toBe('completed');
  await expect.poll(() => stream.items.at(-1)?.event).toBe('end');
  expect([stream.text(), stream.resets()]).toEqual(['all of what the second one said', 1]);
  await next.end('SIGTERM');
});

test('security 4: how often a call waited for its provider is known to the worker after the one that was killed', async () => {
  const from = provider.calls.length;
  const busy = { status: 429, headers: { 'retry-after': '11' }, body: '{"error":{"message":"busy"}}' };
  provider.respond(({ n }) => (n - from <= 2 ? busy : { text: 'at last' }));
  const killed = await crew.startWorker();
  const { id, ended } = await begin();
  const waits = async () => {
    const [row] = await crew.api.db.query<{ waits: number | null }>(
      `SELECT (result->>'waits')::int AS waits FROM call WHERE run_id = $1`,
      [id],
    );
    return row?.waits ?? 0;
  };
  await expect.poll(waits).toBe(1);
  await killed.end('SIGKILL');
  await crew.reportDeaths();
  const next = await crew.startWorker();
  await expect.poll(waits).toBe(2);
  await expect.poll(ended).toBe('completed');
  await next.end('SIGTERM');
});

test('an API on its own tells in healthz of the endpoint that its worker does not ask at present', async () => {
  provider.respond(() => ({ status: 503, body: '{"error":{"message":"the secret prompt"}}' }));
  const worker = await crew.startWorker();
  await begin();
  await begin();
  const health = async () => (await crew.api.request('/api/healthz')).json();
  const endpoint = `openai-compatible at ${provider.url}`;
  await expect.poll(health, { interval: 500 }).toMatchObject({
    circuits: [{ provider: endpoint }],
    models: [{ endpoint, open: true, lastError: 'answered 503' }],
  });
  await worker.end('SIGTERM');
});
