import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { createNet } from '../../src/platform/net/index.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { hookOf, runsOf, send } from '../support/hooks.js';
import { startLocalServer } from '../support/local-server.js';
import { createPlayedApp } from '../support/played-app.js';

const ID = '2512292042121000001';
/** What a double makes of it. */
const ROUNDED = /251229204212100000[02]/;

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  const net = createNet({ config: { allowHosts: [{ host: '127.0.0.1', port: null }], version: 'test' } });
  ({ app, provider } = await createPlayedApp(undefined, { deps: { net } }));
});
afterAll(() => provider.close());

const FLOW = flow(
  [
    '## One @worker\n\n- output: json\n\nBook {{input.order.id}}.\n\n```yaml schema\nid: integer\nrest: any\n```',
    '## Same @worker\n\n- when: steps.one.data.id == input.order.id\n\nIt is {{steps.one.data.id}}.',
    '## Other @worker\n\n- when: steps.one.data.id == 2512292042121000000 || steps.one.data.id > input.order.id\n\nNo.',
    `## Inner\n\n- subflow: inner\n- with: { order: "{{steps.one.data.id}}", fixed: ${ID} }`,
    '## Ask\n\n- wait: event\n\nWait.',
    '## Last @worker\n\n- when: steps.ask.event.id == input.order.id\n\nIt was {{steps.ask.event.id}}.',
  ].join('\n\n'),
  'trigger: webhook\nconcurrency: { limit: 1, key: string(input.order.id) }\n',
);

test('an integer beyond 2^53 stays the one that was sent, from a hook to the last answer', async () => {
  const server = await startLocalServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(`{"booked":${ID}}`);
  });
  provider.respond(({ body }) => {
    const said = JSON.stringify(body.messages);
    if (body.messages.at(-1).role === 'tool') return { text: `{"id": ${ID}, "rest": [${ID}, 7, 0.5]}` };
    if (said.includes(`Book ${ID}.`))
      return { calls: [{ name: 'shop', raw: `{"path":"/book","method":"POST","body":{"id":${ID}}}` }] };
    return { text: 'done' };
  });
  const workspace = await app.workspace({
    'AGENTS.md': '---\nmodels: { default: fake }\n---\n\nBe brief.\n',
    'agents/worker.md': '---\ndescription: Works.\ntools: [shop]\n---\n\nYou work.\n',
    'tools/shop.md': `---\ndescription: The shop.\nbase: ${server.url}\nmethods: [GET, POST]\n---\n\nBook here.\n`,
    'flows/one.md': FLOW,
    'flows/inner.md': flow('## Inside @worker\n\n{{input.order}} and {{input.fixed}}.'),
  });
  const { hookUrl } = await hookOf(app, workspace, 'one');
  expect((await send(app, hookUrl, `{"order":{"id":${ID}}}`))[0]).toBe(202);
  const [row] = await runsOf(app, workspace);
  const id = row?.id ?? '';
  const isAsking = (run: RunView) => run.waiting.some(({ releaseUrl }) => releaseUrl !== undefined);
  const asking = await app.until(workspace, id, (view) => isAsking(view) || view.finishedAt !== null);
  expect(asking.error).toBe(null);
  const url = new URL(asking.waiting[0]?.releaseUrl ?? '');
  const released = await app.request(url.pathname + url.search, {
    as: null,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{"id":${ID}}`,
  });
  expect([released.status, await released.text()]).toEqual([200, expect.anything()]);
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(run.steps.map(({ status }) => status)).toEqual([
    ...['completed', 'completed', 'skipped', 'completed', 'completed', 'completed'],
  ]);

  // The tool was sent the number, and the model was given it each time.
  expect(server.requests.map(({ body }) => String(body))).toEqual([`{"id":${ID}}`]);
  expect(provider.calls[0]?.prompt).toContain(`Book ${ID}.`);
  expect(provider.calls[1]?.prompt).toContain(`{\\"id\\":${ID}}`);
  const prompts = provider.calls.map(({ prompt }) => prompt).join('\n');
  expect(prompts).toContain(`It is ${ID}.`);
  expect(prompts).toContain(`${ID} and ${ID}.`);
  expect(prompts).toContain(`It was ${ID}.`);
  expect(prompts).not.toMatch(ROUNDED);

  const path = `/api/workspaces/${workspace}/runs/${id}`;
  const texts = await Promise.all(
    [path, `${path}/events?limit=100`, `${path}/transcript?step=one`, `/api/workspaces/${workspace}/runs`].map(
      async (url) => (await app.get(url)).text(),
    ),
  );
  const stream = await app.get(`${path}/stream`);
  texts.push(await stream.text());
  for (const text of texts) expect(text).not.toMatch(ROUNDED);
  expect(texts[0]).toContain(`"input":{"order":{"id":${ID}}}`);
  expect(texts[0]).toContain(`"data":{"id":${ID},"rest":[${ID},7,0.5]}`);
  expect(texts[2]).toContain(`"body":{"id":${ID}}`);

  const stored = await app.deps.db.query<{ data: string }>(
    `SELECT data::text AS data FROM step WHERE run_id = $1 AND id = 'one'`,
    [id],
  );
  expect(stored[0]?.data).toContain(`"id": ${ID}`);
});

test('a run that is started by the API keeps the integers of its input, and an idempotent answer repeats them', async () => {
  provider.respond(() => ({ text: 'done' }));
  const workspace = await app.workspace({
    'AGENTS.md': '---\nmodels: { default: fake }\n---\n\nBe brief.\n',
    'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n',
    'flows/one.md': flow('## One @worker\n\nSay {{input.id}}.', 'input:\n  id: integer\n'),
  });
  const start = () =>
    app.request(`/api/workspaces/${workspace}/flows/one/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'exact' },
      body: `{"task":{"id":${ID}}}`,
    });
  const [first, again] = [await (await start()).text(), await (await start()).text()];
  expect(first).toContain('runId');
  expect(again).toBe(first);
  expect(first).not.toMatch(ROUNDED);
  const { runId: id } = JSON.parse(first) as { runId: string };
  expect((await app.ended(workspace, id)).status).toBe('completed');
  expect(await (await app.get(`/api/workspaces/${workspace}/runs/${id}`)).text()).toContain(`"input":{"id":${ID}}`);
});
