import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { createNet } from '../../src/platform/net/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { scripted } from '../support/flows.js';
import { startLocalServer } from '../support/local-server.js';
import { bodyOf, type Tree } from '../support/workspace-app.js';

const CANARY = 'zq4711pelicanqz-and-more';
const script = (code: string, keys = '') =>
  `---\ndescription: A tool.\n${keys}---\n\n\`\`\`python\nimport json, sys, os, time\n${code}\n\`\`\`\n`;

let app: EngineApp;
beforeAll(async () => {
  const net = createNet({ config: { allowHosts: [{ host: '127.0.0.1', port: null }], version: 'test' } });
  app = await createEngineApp({ deps: { net } });
  expect((await app.put('/api/secrets', { name: 'SHOP_TOKEN', value: CANARY })).status).toBe(200);
});

const tryTool = (workspace: string, tool: string, body: object = {}, as = app.key) =>
  app.post(`/api/workspaces/${workspace}/tools/${tool}/test`, body, { as });
const workspaceOf = (tools: Tree, keys = '') => app.workspace(scripted('- { text: x }\n', tools, keys));

test('a tool is called as a run would, with its arguments, its files and its agent’s secrets, and says none of them', async () => {
  const workspace = await workspaceOf(
    {
      'tools/add.md': script('print(int(json.load(sys.stdin)["a"]) + 1)', 'args:\n  a: a number\n'),
      'tools/shop.md': script(
        'open("outputs/left.txt", "w").write("x")\nprint(os.environ["SHOP_TOKEN"], open("/workspace/knowledge/k.md").read())',
      ),
      'knowledge/k.md': 'known',
    },
    'tools: [add, shop]\nsecrets: [SHOP_TOKEN]\n',
  );
  expect(await bodyOf(tryTool(workspace, 'add', { args: { a: '41' } }))).toEqual({
    ok: true,
    status: 0,
    result: '42\n',
    durationMs: expect.any(Number),
    truncated: false,
  });
  expect((await bodyOf(tryTool(workspace, 'shop'))).result).toBe('[secret SHOP_TOKEN] known\n');
  // It is no run: it costs nothing, leaves nothing and is in no list.
  const { runs } = await bodyOf(app.get(`/api/workspaces/${workspace}/runs`));
  const [left] = await app.deps.db.query<{ n: bigint }>(
    `SELECT (SELECT count(*) FROM tool_test) + (SELECT count(*) FROM usage) + (SELECT count(*) FROM storage_entry) AS n`,
  );
  expect([runs, Number(left?.n)]).toEqual([[], 0]);
});

test('a tool that nobody has been granted is tried too, an agent’s own one by its path', async () => {
  const workspace = await workspaceOf({
    'tools/free.md': script('print(sorted(n for n in os.environ if "SHOP" in n))'),
    'agents/worker/tools/own.md': script('print("own")'),
  });
  // What its file does not name it is not given.
  expect((await bodyOf(tryTool(workspace, 'free'))).result).toBe('[]\n');
  const own = { path: 'agents/worker/tools/own.md' };
  expect(await bodyOf(tryTool(workspace, 'own', own))).toMatchObject({ ok: true, result: 'own\n' });
  for (const [tool, body] of [
    ['own', {}],
    ['none', {}],
    ['own', { path: 'agents/worker/agent.md' }],
    ['free', { path: 'tools/../AGENTS.md' }],
    ['Bash', {}],
  ] as const) {
    expect([tool, (await tryTool(workspace, tool, body)).status]).toEqual([tool, 404]);
  }
});

test('arguments are checked as in a run: what does not fit reaches no server, and the answer names each fault', async () => {
  const shop = await startLocalServer((_request, response) => {
    response.end('{"ok":true}');
  });
  const document = {
    openapi: '3.1.0',
    paths: {
      '/orders': {
        post: {
          operationId: 'order',
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['sku', 'quantity'],
                  properties: { sku: { type: 'string' }, quantity: { type: 'integer' } },
                },
              },
            },
          },
        },
      },
    },
  };
  const workspace = await workspaceOf({
    'tools/shop/tool.md': `---\ndescription: d\nbase: ${shop.url}\nmethods: [POST]\nopenapi: api.json\n---\n`,
    'tools/shop/api.json': JSON.stringify(document),
    'tools/add.md': script('print("ran")', 'args:\n  a: a number\n'),
  });
  const order = (args: object) => bodyOf(tryTool(workspace, 'shop', { path: 'order', args }));
  for (const [args, fault] of [
    [{}, 'body is missing'],
    [{ body: {} }, 'body.sku is missing'],
    [{ body: { sku: 'x', quantity: '2' } }, 'body.quantity must be integer'],
    [{ body: { sku: 'x', quantity: 2 }, bdy: 1 }, 'bdy is not a known field'],
  ] as const) {
    expect(await order(args)).toMatchObject({ ok: false, result: expect.stringContaining(fault) });
  }
  expect(shop.requests).toEqual([]);
  expect(await order({ body: { sku: 'x', quantity: 2 } })).toMatchObject({ ok: true, status: 200 });
  expect(shop.requests).toHaveLength(1);
  expect(await bodyOf(tryTool(workspace, 'add', { args: { b: '1' } }))).toMatchObject({
    ok: false,
    result: expect.stringContaining('b is not a known field'),
  });
});

test('a tool whose document cannot be read says why, whichever operation is named', async () => {
  const documents = await startLocalServer((_request, response) => {
    response.writeHead(503).end();
  });
  const workspace = await workspaceOf({
    'tools/shop.md': `---\ndescription: d\nopenapi: ${documents.url}/api.json\n---\n`,
  });
  for (const body of [{}, { path: 'order' }]) {
    const { ok, result } = await bodyOf(tryTool(workspace, 'shop', body));
    expect([ok, result]).toEqual([false, expect.stringMatching(/the document cannot be fetched: .* answers 503/)]);
  }
});

test('a tool of an MCP server whose schema has a pattern that RE2 does not have is called, and its file needs no description', async () => {
  const server = await readFile(new URL('../support/mcp-server.mjs', import.meta.url), 'utf8');
  const workspace = await workspaceOf({
    'tools/srv/tool.md': '---\nname: srv\ncommand: node\nargs: [server.mjs, look-ahead]\nenv: { LEVEL: "1" }\n---\n',
    'tools/srv/server.mjs': server,
  });
  const call = (args: object) => bodyOf(tryTool(workspace, 'srv', { path: 'args', args }));
  expect(await call({ to: 'ada@acme.example' })).toMatchObject({ ok: true, result: '{"to":"ada@acme.example"}' });
  expect(await call({ to: 5 })).toMatchObject({
    ok: false,
    result: 'the arguments do not fit: to must be string',
  });
});

test('what goes wrong is the answer: an exit status, a time that is over, an operation that is not there, too much text', async () => {
  const workspace = await workspaceOf({
    'tools/bad.md': script('print("why", file=sys.stderr)\nsys.exit(3)'),
    'tools/slow.md': script('time.sleep(60)', 'timeout: 1\n'),
    'tools/long.md': script('print("x" * 100_000)'),
  });
  expect(await bodyOf(tryTool(workspace, 'bad'))).toMatchObject({
    ok: false,
    status: 3,
    result: expect.stringContaining('why'),
  });
  expect(await bodyOf(tryTool(workspace, 'bad', { path: 'get' }))).toMatchObject({
    ok: false,
    result: expect.stringContaining('no operations'),
  });
  expect((await bodyOf(tryTool(workspace, 'slow'))).ok).toBe(false);
  const long = await bodyOf(tryTool(workspace, 'long'));
  expect([long.ok, long.truncated, long.result.length <= 30_000]).toEqual([true, true, true]);
  expect((await tryTool(workspace, 'bad', {}, await app.keyFor('viewer'))).status).toBe(403);
  expect((await tryTool(workspace, 'none', {}, await app.keyFor('viewer'))).status).toBe(404);
  expect((await tryTool(workspace, 'bad', { arg: 1 })).status).toBe(422);
});
