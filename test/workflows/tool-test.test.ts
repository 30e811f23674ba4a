import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { scripted } from '../support/flows.js';
import { bodyOf, type Tree } from '../support/workspace-app.js';

const CANARY = 'zq4711pelicanqz-and-more';
const script = (code: string, keys = '') =>
  `---\ndescription: A tool.\n${keys}---\n\n\`\`\`python\nimport json, sys, os, time\n${code}\n\`\`\`\n`;

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
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
