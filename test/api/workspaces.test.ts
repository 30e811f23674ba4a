import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TEMPLATES } from '../../src/content/index.js';
import { repositoryFolder } from '../../src/git/index.js';
import { createKey, createTenant } from '../support/create-test-app.js';
import {
  AGENT,
  agentWrites,
  bodyOf,
  createWorkspaceApp,
  FLOW,
  fileList,
  insertRun,
  SMALL,
} from '../support/workspace-app.js';

test.each(TEMPLATES)('the template %s makes a workspace whose check finds nothing at all', async (template) => {
  const app = await createWorkspaceApp();
  const response = await app.post('/api/workspaces', { name: `from-${template}`, template });
  expect(response.status, await response.clone().text()).toBe(201);
  const made = await bodyOf(response);
  expect(made).toMatchObject({ name: `from-${template}`, live: 0, preview: null, pending: null });
  expect(made.revision).toMatch(/^[0-9a-f]{40}$/);
  expect(made.counts.flows).toBe(template === 'blank' ? 0 : 1);

  const dryRun = await app.deploy(`from-${template}`, await app.readTree(`from-${template}`), { dryRun: true });
  expect(await dryRun.json()).toMatchObject({ ok: true, added: [], changed: [], removed: [], issues: [] });
});

test('demo: true makes the workspace that runs without any provider’s key', async () => {
  const app = await createWorkspaceApp();
  const response = await app.post('/api/workspaces', { name: 'demo', demo: true });
  expect(response.status, await response.clone().text()).toBe(201);
  const { counts } = await bodyOf(response);
  expect(counts.flows).toBeGreaterThan(0);
});

test('a workspace reads back with what its AGENTS.md says, by itself and in the list', async () => {
  const app = await createWorkspaceApp();
  const agents =
    '---\ndescription: Tea.\ntimezone: Europe/Warsaw\nbudget: 60\nnotify: { email: a@b.example }\n---\n# Tea\n';
  const { name } = await app.workspace({ ...SMALL, 'AGENTS.md': agents });
  const one = await bodyOf(app.get(`/api/workspaces/${name}`));
  expect(one).toMatchObject({
    name,
    description: 'Tea.',
    timezone: 'Europe/Warsaw',
    budget: 60,
    notify: { email: 'a@b.example' },
    counts: { agents: 1, flows: 1, evals: 0, tools: 0, skills: 0 },
  });
  expect(new Date(one.createdAt).toISOString()).toBe(one.createdAt);
  expect(await (await app.get('/api/workspaces')).json()).toEqual({ workspaces: [one], next: null });
});

test('the list goes by name, page by page, and each workspace is on one page', async () => {
  const app = await createWorkspaceApp();
  for (const name of ['b', 'a-b', 'a', 'c1']) await app.post('/api/workspaces', { name });
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await bodyOf(app.get(`/api/workspaces?limit=2${cursor ? `&cursor=${cursor}` : ''}`));
    seen.push(...page.workspaces.map((each: { name: string }) => each.name));
    cursor = page.next;
  } while (cursor !== null);
  expect(seen).toEqual(['a', 'a-b', 'b', 'c1']);
});

test.each(['_library', 'a-preview-b', 'Big', 'a_b', 'a--b', '-a', 'x'.repeat(65), '../x', 'ä'])(
  'the name %s is refused with 422, and nothing is made',
  async (name) => {
    const app = await createWorkspaceApp();
    expect((await app.post('/api/workspaces', { name })).status).toBe(422);
    expect((await bodyOf(app.get('/api/workspaces'))).workspaces).toEqual([]);
  },
);

test('a name that is taken is 409, and of ten that ask at once one gets it', async () => {
  const app = await createWorkspaceApp();
  const all = await Promise.all(Array.from({ length: 10 }, () => app.post('/api/workspaces', { name: 'mine' })));
  expect(all.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  expect(await readdir(join(app.deps.config.dataDir, 'git'))).toHaveLength(1);
});

test('files that do not pass are 422 with every issue, and no workspace, no row and no repository is left', async () => {
  const app = await createWorkspaceApp();
  const files = {
    'flows/a.md': '## Nobody\n\nDo it.\n',
    'flows/b.md': '---\nnope: 1\n---\n\n## X @y\n\nz\n',
    'storage/x': '',
  };
  const response = await app.post('/api/workspaces', { name: 'broken', files: fileList(files) });
  expect(response.status).toBe(422);
  const { issues, ok } = await bodyOf(response);
  expect(ok).toBe(false);
  expect(new Set(issues.map(({ path }: { path: string }) => path))).toEqual(new Set(Object.keys(files)));
  expect((await app.get('/api/workspaces/broken')).status).toBe(404);
  expect(existsSync(join(app.deps.config.dataDir, 'git'))).toBe(false);
});

test('files are laid over the template, and stand alone without one', async () => {
  const app = await createWorkspaceApp();
  const own = [{ path: 'AGENTS.md', content: '# Ours\n' }];
  await app.post('/api/workspaces', { name: 'both', template: 'support', files: own });
  await app.post('/api/workspaces', { name: 'alone', files: own });
  const both = await app.readTree('both');
  expect(both['AGENTS.md']).toBe('# Ours\n');
  expect(Object.keys(both)).toContain('flows/answer-message.md');
  expect(await app.readTree('alone')).toEqual({ 'AGENTS.md': '# Ours\n' });
  expect((await app.post('/api/workspaces', { name: 'c', template: 'support', demo: true })).status).toBe(422);
});

test('delete is refused over live runs and says which; force takes all of it away', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const runId = await insertRun(app, id);
  const sha = await app.deps.blobs.put(Buffer.from('produced'));
  await app.deps.db.query(
    `INSERT INTO storage_entry (workspace_id, path, sha, size, type, written_by) VALUES ($1, 'storage/x', $2, 8, 'text/plain', '{}')`,
    [id, sha],
  );
  const kept = await app.deploy(name, { ...SMALL, 'memory/a.md': 'x' }, { force: true });
  expect(kept.status).toBe(200);
  expect(await agentWrites(app, { id, runId, path: 'memory/a.md', content: 'y', seen: 'x' })).toMatchObject({
    kind: 'written',
  });

  const refused = await app.delete(`/api/workspaces/${name}`);
  expect(refused.status).toBe(409);
  expect(await refused.json()).toMatchObject({ live: 1, runs: [{ id: runId, flow: 'hello', status: 'running' }] });

  const deleted = await app.delete(`/api/workspaces/${name}?force=true`);
  expect(await deleted.json()).toEqual({ ok: true, name, stopped: 1 });
  expect((await app.get(`/api/workspaces/${name}`)).status).toBe(404);
  expect(existsSync(repositoryFolder(app.deps.config.dataDir, id))).toBe(false);
  expect(await app.deps.blobs.has(sha)).toBe(false);
  const tables = ['run', 'change', 'memory_file', 'storage_entry', 'revision', 'plan', 'blob'];
  for (const table of tables) {
    expect(await app.deps.db.query(`SELECT 1 FROM ${table} WHERE workspace_id = $1`, [id]), table).toEqual([]);
  }
  // Temporal is told by the outbox, so that the workflow ends even when it cannot be reached now.
  const outbox = await app.deps.db.query('SELECT kind FROM outbox WHERE run_id = $1', [runId]);
  expect(outbox).toEqual([{ kind: 'cancel' }]);
});

test('a produced file that another workspace refers to outlives the deletion of one', async () => {
  const app = await createWorkspaceApp();
  const [one, two] = [await app.workspace(), await app.workspace()];
  const sha = await app.deps.blobs.put(Buffer.from('shared'));
  for (const { id } of [one, two]) {
    await app.deps.db.query(
      `INSERT INTO storage_entry (workspace_id, path, sha, size, type, written_by) VALUES ($1, 'storage/x', $2, 6, 'text/plain', '{}')`,
      [id, sha],
    );
  }
  await app.delete(`/api/workspaces/${one.name}`);
  expect(await app.deps.blobs.has(sha)).toBe(true);
});

test('a foreign workspace answers exactly like a missing one, on every route', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const stranger = await createTenant(app.deps);
  const as = await createKey(app.deps, { ...stranger, role: 'admin' });
  const calls = (ws: string) => [
    app.get(`/api/workspaces/${ws}`, { as }),
    app.delete(`/api/workspaces/${ws}`, { as }),
    app.get(`/api/workspaces/${ws}/source`, { as }),
    app.get(`/api/workspaces/${ws}/source?path=AGENTS.md`, { as }),
    app.put(`/api/workspaces/${ws}/source`, { path: 'AGENTS.md', content: 'x' }, { as }),
    app.patch(`/api/workspaces/${ws}/source`, { from: 'AGENTS.md', to: 'b.md' }, { as }),
    app.delete(`/api/workspaces/${ws}/source?path=AGENTS.md`, { as }),
    app.post(
      `/api/workspaces/${ws}/deploy`,
      { files: fileList({ 'agents/writer.md': AGENT, 'flows/hello.md': FLOW }) },
      { as },
    ),
    app.get(`/api/workspaces/${ws}/history`, { as }),
  ];
  const [foreign, missing] = [await Promise.all(calls(name)), await Promise.all(calls('no-such-one'))];
  expect(foreign.map(({ status }) => status)).toEqual(foreign.map(() => 404));
  const texts = async (all: Response[]) => Promise.all(all.map((each) => each.text()));
  expect(await texts(foreign)).toEqual(await texts(missing));
  expect(await app.readTree(name)).toEqual(SMALL);
});

test('a member narrowed to other workspaces does not see it, and may not make one', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const narrow = await createKey(app.deps, { ...app, role: 'admin', workspaces: ['another'] });
  expect((await app.get(`/api/workspaces/${name}`, { as: narrow })).status).toBe(404);
  expect((await bodyOf(app.get('/api/workspaces', { as: narrow }))).workspaces).toEqual([]);
  expect((await app.post('/api/workspaces', { name: 'new' }, { as: narrow })).status).toBe(403);
});
