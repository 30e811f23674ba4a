import { expect, test } from 'vitest';
import { createNet } from '../../src/platform/net/index.js';
import type { FakeAnswer } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { startLocalServer } from '../support/local-server.js';
import { createPlayedApp } from '../support/played-app.js';

const SHOP = JSON.stringify({
  openapi: '3.1.0',
  paths: Object.fromEntries(
    Array.from({ length: 60 }, (_, n) => [
      `/things${n}/{id}`,
      {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        get: { operationId: `things/get-${n}`, summary: `Thing number ${n}.` },
        post: { operationId: `things/pay-${n}`, summary: `Pays a refund of thing ${n}.` },
      },
    ]),
  ),
});

test('a hidden operation is found, gated by its real name, called once with its key; a hostile answer lets the run go on', async () => {
  const server = await startLocalServer(({ method, headers }, response) => {
    if (method === 'POST')
      response.setHeader('content-type', 'application/json').end(`{"paid": "${headers.authorization}"}`);
    else response.setHeader('content-type', 'application/json').end('{"not": js');
  });
  const answers: FakeAnswer[] = [
    { calls: [{ name: 'find_tool', args: { query: 'pay refund of thing 7' } }] },
    { calls: [{ name: 'call_tool', args: { name: 'shop__things_pay-7', arguments: { id: 'a b' } } }] },
    { calls: [{ name: 'call_tool', args: { name: 'shop__things_get-7', arguments: { id: 'a' } } }] },
    { calls: [{ name: 'call_tool', args: { name: 'shop__things_get-7', arguments: {} } }] },
    { text: 'done' },
  ];
  let turn = 0;
  const allowHosts = [{ host: '127.0.0.1', port: null }];
  const net = createNet({ config: { allowHosts, version: 'test' } });
  const { app, provider } = await createPlayedApp(() => answers[turn++] ?? { text: 'done' }, {
    deps: { net },
    allowHosts,
  });
  const secret = 'canary-secret-1234';
  await app.put('/api/secrets', { name: 'SHOP_KEY', value: secret });
  const workspace = await app.workspace({
    'agents/worker.md':
      '---\ndescription: Works.\ntools: [shop]\nsecrets: [SHOP_KEY]\napprove: [shop.things/pay-7]\n---\n\nYou work.\n',
    'flows/f.md': flow('## Pay @worker\n\nPay.'),
    'tools/shop/tool.md': `---\ndescription: The shop.\nbase: ${server.url}\nmethods: [GET, POST]\nheaders: { Authorization: "Bearer \${SHOP_KEY}" }\nopenapi: shop.json\n---\n\nAmounts are in EUR.\n`,
    'tools/shop/shop.json': SHOP,
  });
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  expect(server.requests).toEqual([]);
  const [park] = await app.deps.db.query<{ spec: { calls: unknown[] } }>('SELECT spec FROM park WHERE run_id = $1', [
    id,
  ]);
  expect(park?.spec.calls).toEqual([expect.objectContaining({ name: 'shop__things_pay-7', args: { id: 'a b' } })]);
  await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, { decision: 'approve' });
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /things7/a%20b',
    'GET /things7/a',
  ]);
  expect(server.requests[0]?.headers).toMatchObject({
    authorization: `Bearer ${secret}`,
    'idempotency-key': expect.stringMatching(/^[0-9a-f]{40}$/),
  });
  const [first, last] = [provider.calls[0], provider.calls.at(-1)].map((call) => JSON.stringify(call?.body));
  expect(first).toContain('Amounts are in EUR.');
  expect(last).toContain('[secret SHOP_KEY]');
  expect(last).toContain('the answer says that it is JSON, and is not');
  expect(last).toContain('id is missing');
  const rows = await app.deps.db.query<{ name: string; acts: boolean; state: string }>(
    `SELECT name, acts, state FROM call WHERE run_id = $1 AND kind = 'tool' ORDER BY turn`,
    [id],
  );
  expect(rows).toEqual([
    { name: 'find_tool', acts: false, state: 'finished' },
    { name: 'shop__things_pay-7', acts: true, state: 'finished' },
    { name: 'shop__things_get-7', acts: false, state: 'finished' },
    { name: 'shop__things_get-7', acts: false, state: 'refused' },
  ]);
  const started = run.steps[0]?.trace.filter(({ kind }) => kind === 'tool.started') ?? [];
  expect(started.map((line) => (line as { tool?: string }).tool)).toEqual([
    undefined,
    'shop.things/pay-7',
    'shop.things/get-7',
  ]);
  const told = await app.deps.db.query<{ text: string }>(
    `SELECT coalesce(jsonb_agg(to_jsonb(m))::text, '') || coalesce((SELECT jsonb_agg(to_jsonb(c))::text FROM call c WHERE run_id = $1), '') AS text FROM message m WHERE run_id = $1`,
    [id],
  );
  expect(told[0]?.text).not.toContain(secret);
});
