import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { blobId } from '../../src/git/index.js';
import { createNet } from '../../src/platform/net/index.js';
import { newId } from '../../src/shared/ids.js';
import { createKey } from '../support/create-test-app.js';
import { bodyOf, createWorkspaceApp, fileList, SMALL, type WorkspaceApp } from '../support/workspace-app.js';

let app: WorkspaceApp;
beforeAll(async () => {
  app = await createWorkspaceApp({ routes });
});

const at = (workspace: string, rest = '') => `/api/workspaces/${workspace}${rest}`;
const freshName = () => `n-${newId().slice(-12)}`;

const AGENTS =
  '\uFEFF---\r\n# ours\r\ntimezone:   "Europe/Paris"   # where we are\r\nmodels: { a: x/y }\r\n---\r\n\r\nBe  brief.\r\n';

test('a workspace’s defaults are set in place, null clears one, and every other byte stays', async () => {
  const { name } = await app.workspace({ ...SMALL, 'AGENTS.md': AGENTS });
  const set = await bodyOf(app.patch(at(name), { budget: 12.5, timezone: 'UTC', notify: { email: 'a@x.test' } }));
  expect(set).toMatchObject({ name, budget: 12.5, timezone: 'UTC', notify: { email: 'a@x.test' } });
  const text = (await app.readTree(name))['AGENTS.md'] ?? '';
  expect(text).toContain('# ours\r\ntimezone:   UTC   # where we are\r\nmodels: { a: x/y }\r\n');
  expect(text.endsWith('---\r\n\r\nBe  brief.\r\n')).toBe(true);
  const cleared = await bodyOf(app.patch(at(name), { budget: null, notify: null, timezone: '"' }));
  expect(cleared.error).toMatch(/timezone|AGENTS/);
  expect(await bodyOf(app.patch(at(name), { budget: null, notify: null }))).toMatchObject({
    budget: null,
    notify: null,
  });
  // To the byte: the mark at its beginning, the line ends and the blanks.
  const { sha } = await bodyOf(app.get(at(name, '/source?path=AGENTS.md')));
  expect(sha).toBe(blobId(Buffer.from(AGENTS.replace('"Europe/Paris"', 'UTC'))));
  const history = await bodyOf(app.get(at(name, '/history?limit=1')));
  expect(history.changes[0]).toMatchObject({ via: 'edit', message: 'Set budget, notify', paths: ['AGENTS.md'] });
  for (const body of [{}, { budget: -1 }, { timezone: 'Nowhere/Else' }, { nmae: 'x' }, { notify: { urls: 'x' } }]) {
    expect([body, (await app.patch(at(name), body)).status]).toEqual([body, 422]);
  }
});

test.each([
  'https://10.0.0.1/hook',
  'http://127.0.0.1:9/hook',
  'http://[::1]/hook',
  'http://169.254.169.254/latest',
  'http://2130706433/hook',
  'https://user:word@example.com/hook',
])('security 21: a `notify.url` that would not be asked is refused when it is stored: %s', async (url) => {
  const { name } = await app.workspace();
  const before = await app.readTree(name);
  const notify = `notify: { url: "${url}" }`;
  const flow = `---\ndescription: F.\n${notify}\n---\n\n## One\n\n- approve: human\n\nRight?\n`;
  const trees = [
    ['AGENTS.md', `---\n${notify}\n---\n\nBe brief.\n`, 'workspace/bad-value', 2],
    ['flows/told.md', flow, 'flow/bad-value', 3],
  ] as const;
  for (const [path, content, code, line] of trees) {
    const issues = [{ path, code, line, severity: 'error', message: expect.stringContaining('notify.url') }];
    const deployed = await app.post(at(name, '/deploy'), { files: fileList({ ...before, [path]: content }) });
    expect([deployed.status, await deployed.json()]).toMatchObject([422, { issues }]);
  }
  expect((await app.patch(at(name), { notify: { url } })).status).toBe(422);
  expect(await app.readTree(name)).toEqual(before);
});

test('a `notify.url` on a host that the operator opened, and one by name, is stored', async () => {
  const config = { ...app.deps.config, allowHosts: [{ host: '10.0.0.1', port: 8080 }] };
  const opened = await createWorkspaceApp({ routes, config, deps: { net: createNet({ config }) } });
  const { name } = await opened.workspace();
  for (const url of ['http://10.0.0.1:8080/hook', 'https://example.com/hook']) {
    expect(await bodyOf(opened.patch(at(name), { notify: { url } }))).toMatchObject({ notify: { url } });
  }
  expect((await opened.patch(at(name), { notify: { url: 'http://10.0.0.1:8081/hook' } })).status).toBe(422);
});

test('a rename moves every path, takes previews and scopes along, and is an admin’s', async () => {
  const { name, id } = await app.workspace();
  const other = await app.workspace();
  const preview = `${name}-preview-x`;
  await app.deps.db.query(
    `INSERT INTO workspace (id, tenant_id, name, preview_of, preview_branch) VALUES ($1, $2, $3, $4, 'x')`,
    [newId(), app.tenant, preview, id],
  );
  const scoped = await createKey(app.deps, { ...app, role: 'editor', workspaces: [name] });
  const to = freshName();
  expect((await app.patch(at(name), { name: to }, { as: scoped })).status).toBe(403);
  // Nor does a change that changes nothing tell of a workspace out of reach, or one that there is none of.
  for (const [path, wish] of [
    [other.name, { name: other.name }],
    [other.name, { name: to }],
    [to, { name: to }],
  ] as const) {
    expect([wish, (await app.patch(at(path), wish, { as: scoped })).status]).toEqual([wish, 404]);
  }
  expect((await app.patch(at(name), { name }, { as: scoped })).status).toBe(200);
  expect((await app.patch(at(name), { name: other.name })).status).toBe(409);
  expect((await app.patch(at(preview), { name: to })).status).toBe(409);
  for (const bad of ['Not A Name', `${to}-preview-y`, '_library', '../x']) {
    expect([bad, (await app.patch(at(name), { name: bad })).status]).toEqual([bad, 422]);
  }
  const renamed = await bodyOf(app.patch(at(name), { name: to, description: 'Now it is this' }));
  expect(renamed).toMatchObject({ name: to, description: 'Now it is this', renamed: { from: name } });
  expect((await app.get(at(name))).status).toBe(404);
  for (const path of [to, `${to}-preview-x`]) {
    expect([path, (await app.get(at(path), { as: scoped })).status]).toEqual([path, 200]);
  }
  // With its keys as they are already, the name alone changes.
  const again = freshName();
  expect((await app.patch(at(to), { name: again, description: 'Now it is this' })).status).toBe(200);
  // Of two that want one name, one gets it.
  const wish = freshName();
  const race = await Promise.all([app.patch(at(again), { name: wish }), app.patch(at(other.name), { name: wish })]);
  expect(race.map(({ status }) => status).sort()).toEqual([200, 409]);
});

test('a document of every kind and template is created, deploys, and is created once', async () => {
  const { name } = await app.workspace();
  const create = (body: object) => app.post(at(name, '/assets'), body);
  const wishes = [
    { kind: 'agent', name: 'one' },
    { kind: 'agent', name: 'two', template: 'reviewer', description: 'A: "two"' },
    { kind: 'flow', name: 'three', template: 'chain' },
    { kind: 'eval', name: 'four' },
    { kind: 'tool', name: 'five' },
    { kind: 'tool', name: 'six', template: 'http' },
    { kind: 'tool', name: 'seven', template: 'mcp', agent: 'writer' },
    { kind: 'skill', name: 'eight' },
    { kind: 'knowledge', name: 'a/nine' },
    { kind: 'memory', name: 'ten', agent: 'writer' },
  ];
  for (const wish of wishes) {
    const response = await create(wish);
    const made = await bodyOf(response);
    expect([wish, response.status, made.error]).toEqual([wish, 201, undefined]);
    expect((await app.get(at(name, `/source?path=${made.path}`))).status).toBe(200);
  }
  for (const [body, status] of [
    [{ kind: 'agent', name: 'one' }, 409],
    [{ kind: 'tool', name: 'five', template: 'mcp' }, 409],
    [{ kind: 'knowledge', name: '../x' }, 422],
    [{ kind: 'knowledge', name: 'a/../../x' }, 422],
    [{ kind: 'agent', name: 'x', template: 'toString' }, 422],
    [{ kind: 'tool', name: 'x', agent: 'nobody' }, 422],
    [{ kind: 'eval', name: 'x', target: 'flows/none' }, 422],
    [{ kind: 'thing', name: 'x' }, 422],
  ] as const) {
    expect([body, (await create(body)).status]).toEqual([body, status]);
  }
});

test('agents are listed with what they have, and made once under one key', async () => {
  const { name } = await app.workspace();
  const headers = { 'idempotency-key': `a-${name}` };
  const make = () => app.post(at(name, '/agents'), { name: 'helper', template: 'writer' }, { headers });
  const [first, second] = [await make(), await make()];
  expect([first.status, second.status, await first.json()]).toEqual([201, 201, await second.json()]);
  const { agents, next } = await bodyOf(app.get(at(name, '/agents?limit=1')));
  expect([agents[0], next]).toMatchObject([{ name: 'helper', flows: [], lastRun: null }, expect.any(String)]);
  const rest = await bodyOf(app.get(at(name, `/agents?cursor=${next}`)));
  expect(rest.agents).toMatchObject([{ name: 'writer', path: 'agents/writer.md', flows: ['hello'], model: null }]);
  expect(rest.agents[0].tools).toContain('Read');
});

test('the vocabulary tells every kind with its keys, and what links find, folders among them', async () => {
  const { name } = await app.workspace({
    ...SMALL,
    'knowledge/a/b.md': '---\ntitle: The B\n---\n\nx\n',
    'memory/m.md': 'x\n',
  });
  const { kinds, options, docs } = await bodyOf(app.get(at(name, '/vocabulary')));
  expect(kinds.map(({ kind }: { kind: string }) => kind)).toContain('flow');
  expect(options.step.map(({ key }: { key: string }) => key)).toContain('approve');
  expect(docs).toContainEqual({ path: 'knowledge/a/b.md', title: 'The B', kind: 'knowledge' });
  expect(docs.map(({ path, kind }: { path: string; kind: string }) => `${path} ${kind}`)).toEqual([
    'knowledge folder',
    'knowledge/a folder',
    'knowledge/a/b.md knowledge',
    'memory folder',
    'memory/m.md memory',
  ]);
});
