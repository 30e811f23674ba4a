import { beforeEach, expect, test } from 'vitest';
import { deployRoutes } from '../../src/api/routes/deploys.js';
import { historyRoutes } from '../../src/api/routes/history.js';
import { keyRoutes } from '../../src/api/routes/keys.js';
import { libraryRoutes } from '../../src/api/routes/library.js';
import { scheduleRoutes } from '../../src/api/routes/schedule.js';
import { secretRoutes } from '../../src/api/routes/secrets.js';
import { sourceRoutes } from '../../src/api/routes/source.js';
import { workspaceRoutes } from '../../src/api/routes/workspaces.js';
import { clearErased, dropPreview, MAX_PREVIEWS, putPreview, readLiveTree } from '../../src/content/index.js';
import { assertMonths, correctMonths, readMonthBudgets } from '../../src/engine/index.js';
import type { Issue } from '../../src/format/index.js';
import { newId } from '../../src/shared/ids.js';
import { Refusal } from '../../src/shared/refusal.js';
import { createKey } from '../support/create-test-app.js';
import { pushBranch, pusher } from '../support/previews.js';
import {
  agentWrites,
  bodyOf,
  createWorkspaceApp,
  EVAL,
  insertRun,
  SMALL,
  type Tree,
  type WorkspaceApp,
} from '../support/workspace-app.js';
import { insertWorkspace } from '../support/workspace-row.js';

const routes = [
  ...workspaceRoutes,
  ...sourceRoutes,
  ...deployRoutes,
  ...historyRoutes,
  ...keyRoutes,
  ...libraryRoutes,
  ...scheduleRoutes,
  ...secretRoutes,
];
let app: WorkspaceApp;
let name: string;
let id: string;
beforeEach(async () => {
  app = await createWorkspaceApp({ routes });
  ({ name, id } = await app.workspace());
});

const push = (branch: string, files: Tree = SMALL, commit?: string) =>
  pushBranch(app, { workspace: name, branch, files, ...(commit !== undefined && { commit }) });
const at = (workspace: string, rest = '') => `/api/workspaces/${workspace}${rest}`;
const names = async (as = app.key): Promise<string[]> =>
  (await bodyOf(app.get('/api/workspaces', { as }))).workspaces.map((one: { name: string }) => one.name);
async function idOf(workspace: string): Promise<string> {
  const [row] = await app.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE tenant_id = $1 AND name = $2', [
    app.tenant,
    workspace,
  ]);
  return row?.id ?? '';
}
async function drop(branch: string): Promise<void> {
  const erased = await app.deps.db.transaction((sql) =>
    dropPreview(sql, pusher(app.tenant), { workspace: name, branch }),
  );
  if (erased) await clearErased(app.deps, erased);
}

test('a branch has a workspace of its own, by its tree, with its evals begun; a further push brings it along', async () => {
  const made = await push('try-it', { ...SMALL, 'evals/checks.md': EVAL.replace('trigger: manual\n', '') });
  expect(made).toMatchObject({ name: `${name}-preview-try-it`, created: true, applied: true });
  expect(made.evals).toHaveLength(1);
  const shown = await bodyOf(app.get(at(made.name)));
  expect(shown).toMatchObject({ preview: { of: name, branch: 'try-it' }, counts: { evals: 1 } });
  expect(await names()).toEqual([name, made.name]);
  expect(Object.keys(await app.readTree(made.name)).sort()).toEqual([...Object.keys(SMALL), 'evals/checks.md'].sort());
  const again = await push('try-it', { ...SMALL, 'AGENTS.md': '# Other\n' });
  expect(again).toMatchObject({ name: made.name, created: false, applied: true, evals: [] });
  expect(await app.readTree(made.name)).toEqual({ ...SMALL, 'AGENTS.md': '# Other\n' });
  expect(await app.readTree(name)).toEqual(SMALL);
  const { changes } = await bodyOf(app.get(at(made.name, '/history')));
  expect(changes).toMatchObject([{ via: 'push', message: 'Try try-it', by: { label: 'laptop' } }, { via: 'push' }]);
});

test('the same files change nothing, and a branch that goes back to a commit has its files again', async () => {
  const other = { ...SMALL, 'AGENTS.md': '# Other\n' };
  const { name: preview } = await push('b', SMALL, 'one');
  expect(await push('b', SMALL, 'two')).toMatchObject({ applied: false });
  expect(await push('b', other, 'three')).toMatchObject({ applied: true });
  expect(await push('b', SMALL, 'one')).toMatchObject({ applied: true });
  expect(await app.readTree(preview)).toEqual(SMALL);
});

test('a program of the branch is one in its preview, and marks alone are a change', async () => {
  const files = { ...SMALL, 'scripts/run.sh': 'echo 1\n' };
  const put = (programs: string[]) => pushBranch(app, { workspace: name, branch: 'marks', files, programs });
  expect(await put(['scripts/run.sh'])).toMatchObject({ applied: true });
  expect(await put(['scripts/run.sh'])).toMatchObject({ applied: false });
  const preview = await idOf(`${name}-preview-marks`);
  const marks = async () => (await readLiveTree(app.deps.db, preview)).source.get('scripts/run.sh')?.executable;
  expect(await marks()).toBe(true);
  expect(await put([])).toMatchObject({ applied: true });
  expect(await marks()).toBeUndefined();
});

test('a tree with errors is refused whole, with every issue, and no preview is made of it', async () => {
  const bad = { ...SMALL, 'flows/bad.md': '---\ntrigger: [\n---\n', 'flows/hello.md': '# no steps' };
  const refused = await push('bad', bad).catch((error: unknown) => error as Refusal);
  if (!(refused instanceof Refusal)) throw new Error('it was taken');
  expect(refused).toMatchObject({ kind: 'refused', details: { ok: false, applied: false } });
  const issues = refused.details.issues as readonly Issue[];
  expect(new Set(issues.map(({ path }) => path))).toEqual(new Set(['flows/bad.md', 'flows/hello.md']));
  expect(await names()).toEqual([name]);
});

test('what moves the ref is in the preview’s transaction: refused there, nothing is made', async () => {
  const tree = Object.entries(SMALL).map(([path, content]) => ({ path, content: Buffer.from(content) }));
  const failing = putPreview(app.deps, pusher(app.tenant), {
    ...{
      workspace: name,
      branch: 'lost',
      files: tree,
      executable: new Set<string>(),
      commit: 'a'.repeat(40),
      message: 'm',
    },
    moveRef: async () => {
      throw new Error('the ref has moved');
    },
  });
  await expect(failing).rejects.toThrow('the ref has moved');
  expect(await names()).toEqual([name]);
});

test('security 14: twenty branches at once that read alike, and workspaces in their way, have one preview each', async () => {
  await insertWorkspace(app.deps, app.tenant, `${name}-preview-taken`);
  await insertWorkspace(app.deps, app.tenant, `${name}-preview`);
  const branches = [
    'feature/x',
    'feature-x',
    'Feature/X',
    '日本語',
    'taken',
    'a',
    'A',
    'a/',
    'preview-a',
    'x'.repeat(200),
  ];
  const put = await Promise.all([...branches, ...branches].map((branch) => push(branch)));
  const made = new Map(put.map((one, n) => [branches[n % branches.length], one.name]));
  expect(put.filter(({ created }) => created)).toHaveLength(branches.length);
  expect(new Set(put.map((one) => one.name)).size).toBe(branches.length);
  for (const [n, one] of put.entries()) expect(one.name).toBe(made.get(branches[n % branches.length]));
  // `<name>-preview` and its branch `a` want the name that the branch `preview-a` of `<name>` has.
  const rival = await pushBranch(app, { workspace: `${name}-preview`, branch: 'a', files: SMALL });
  expect(made.get('preview-a')).toBe(`${name}-preview-preview-a`);
  expect(rival.name).not.toBe(made.get('preview-a'));
  const taken = await bodyOf(app.get(at(`${name}-preview-taken`)));
  expect(taken).toMatchObject({ preview: null, revision: null });
  expect((await app.post('/api/workspaces', { name: `${name}-preview-mine` })).status).toBe(422);
});

test('a preview is not written to but by its branch, and keeps no secrets and keys of its own', async () => {
  const { name: preview } = await push('b');
  const file = at(preview, '/source?path=AGENTS.md');
  const tried = [
    app.deploy(preview, { ...SMALL, 'AGENTS.md': '# New\n' }),
    app.put(file, { path: 'AGENTS.md', content: '# New\n' }),
    app.delete(file),
    app.patch(at(preview), { description: 'New' }),
    app.patch(at(preview), { name: 'new' }),
    app.delete(at(preview)),
    app.put('/api/secrets', { name: 'TOKEN', workspace: preview, value: 'a secret value' }),
    app.delete(`/api/secrets?name=TOKEN&workspace=${preview}`),
    app.post('/api/keys', { label: 'ci', workspace: preview, access: 'write' }),
  ];
  for (const response of await Promise.all(tried)) {
    const body = await bodyOf(response);
    expect([response.status, body.code, body.error]).toEqual([409, 'preview', expect.stringContaining(name)]);
  }
  expect(await app.readTree(preview)).toEqual(SMALL);
  const dry = await bodyOf(app.deploy(preview, { ...SMALL, 'AGENTS.md': '# New\n' }, { dryRun: true }));
  expect(dry).toMatchObject({ ok: true, applied: false, changed: ['AGENTS.md'] });
});

test('a secret of the source is in reach of its preview, and one that is nowhere is warned of', async () => {
  const flow = SMALL['flows/hello.md']?.replace('description:', 'secrets: [SHOP_TOKEN]\ndescription:') ?? '';
  const warned = await push('b', { ...SMALL, 'flows/hello.md': flow });
  expect(warned.issues).toMatchObject([{ severity: 'warning', path: 'flows/hello.md' }]);
  await app.put('/api/secrets', { name: 'SHOP_TOKEN', workspace: name, value: 'a secret value' });
  expect((await push('c', { ...SMALL, 'flows/hello.md': flow })).issues).toEqual([]);
  const { secrets } = await bodyOf(app.get(`/api/secrets?workspace=${name}`));
  expect(secrets[0].usedBy.map(({ workspace }: { workspace: string }) => workspace)).toEqual([
    `${name}-preview-b`,
    `${name}-preview-c`,
  ]);
});

test('who is narrowed to the source sees its previews and no other’s, as soon as they are there', async () => {
  const scoped = await createKey(app.deps, { ...app, role: 'editor', workspaces: [name] });
  const other = await app.workspace();
  const foreign = await pushBranch(app, { workspace: other.name, branch: 'b', files: SMALL });
  const own = await push('b');
  expect(await names(scoped)).toEqual([name, own.name]);
  expect((await app.get(at(own.name), { as: scoped })).status).toBe(200);
  expect((await app.get(at(foreign.name), { as: scoped })).status).toBe(404);
  await drop('b');
  expect(await names(scoped)).toEqual([name]);
});

test('deleting the branch deletes its preview with all it holds, live runs too, and nothing else', async () => {
  const { name: preview } = await push('b');
  const stays = await push('other');
  const previewId = await idOf(preview);
  await agentWrites(app, { id: previewId, path: 'memory/a.md', content: 'x', seen: null });
  const run = await insertRun(app, previewId);
  await drop('b');
  await drop('b');
  expect(await names()).toEqual([name, stays.name]);
  const outbox = await app.deps.db.query('SELECT kind FROM outbox WHERE run_id = $1', [run]);
  expect(outbox).toEqual([{ kind: 'cancel' }]);
  for (const table of ['run', 'revision', 'blob', 'memory_file', 'change', 'plan']) {
    const left = await app.deps.db.query(`SELECT 1 FROM ${table} WHERE workspace_id = $1`, [previewId]);
    expect([table, left]).toEqual([table, []]);
  }
  expect((await push('b')).created).toBe(true);
});

test('a source takes its previews along when it is renamed, however long its name, and when it is deleted', async () => {
  await push('plain');
  const odd = await push('odd/one');
  expect(odd.name).toMatch(new RegExp(`^${name}-preview-odd-one-[0-9a-f]{8}$`));
  const hash = odd.name.slice(-8);
  const long = `w-${newId()}-${newId()}`.slice(0, 60);
  expect((await app.patch(at(name), { name: long })).status).toBe(200);
  const renamed = await names();
  expect(renamed).toHaveLength(3);
  for (const one of renamed.filter((other) => other !== long)) expect(one).toMatch(/^w-.{30,60}-preview-[0-9a-f]{8}$/);
  expect((await app.patch(at(long), { name })).status).toBe(200);
  expect(await names()).toEqual([name, `${name}-preview-odd-one-${hash}`, `${name}-preview-plain`]);
  expect((await app.delete(at(name))).status).toBe(200);
  expect(await names()).toEqual([]);
});

test('a workspace has so many previews and no more, and says what to do', async () => {
  await app.deps.db.query(
    `INSERT INTO workspace (id, tenant_id, name, preview_of, preview_branch)
      SELECT $1 || n, $2, $3 || n, $1, 'b' || n FROM generate_series(1, $4::int) AS n`,
    [id, app.tenant, `${name}-preview-b`, MAX_PREVIEWS],
  );
  await expect(push('one-more')).rejects.toMatchObject({ kind: 'conflict', details: { code: 'preview/too-many' } });
  await drop('b1');
  expect(await push('one-more')).toMatchObject({ created: true });
});

test('a preview keeps nobody from changing the library: it goes on by its plans of before', async () => {
  const tool = '---\nname: crm\ndescription: Finds.\n---\n\n```bash\necho hi\n```\n';
  expect((await app.post('/api/library/tools', { path: 'tools/crm.md', content: tool })).status).toBe(201);
  const agent = SMALL['agents/writer.md']?.replace('description:', 'tools: [crm]\ndescription:') ?? '';
  const { name: preview } = await push('b', { ...SMALL, 'agents/writer.md': agent });
  const removed = await app.delete('/api/library/tools?path=tools/crm.md');
  expect([removed.status, await removed.text()]).toEqual([200, expect.anything()]);
  expect((await bodyOf(app.get(at(preview)))).counts.agents).toBe(1);
});

test('security 31: a preview spends from its source’s month, and what it has spent stays when its branch is deleted', async () => {
  const capped = { ...SMALL, 'AGENTS.md': '---\nbudget: 1\n---\n# Hello\n' };
  expect((await app.deploy(name, capped)).status).toBe(200);
  const { name: preview } = await push('b', { ...SMALL, 'AGENTS.md': '---\nbudget: 1000\n---\n# Hello\n' });
  const previewId = await idOf(preview);
  const now = Date.now();
  const months = (of: string) => readMonthBudgets(app.deps.db, of, now);
  expect(await months(previewId)).toEqual(await months(id));
  expect((await months(previewId))[0]).toMatchObject({ id, cap: 1_000_000_000n, of: `the workspace ${name}` });
  const use = (nano: string) =>
    app.deps.db.query(
      `INSERT INTO usage (tenant_id, workspace_id, run_id, step, meter, nano, source, estimated) VALUES ($1, $2, $3, 's', 'model', $4, 'price', false)`,
      [app.tenant, previewId, newId(), nano],
    );
  await use('600000000');
  await assertMonths(app.deps.db, previewId, now);
  await use('500000000');
  await correctMonths(app.deps);
  for (const of of [previewId, id]) {
    await expect(assertMonths(app.deps.db, of, now)).rejects.toMatchObject({
      kind: 'out_of_credit',
      details: { scope: 'workspace', budgetUsd: 1, spentUsd: 1.1 },
    });
  }
  await drop('b');
  await correctMonths(app.deps);
  await expect(assertMonths(app.deps.db, id, now)).rejects.toMatchObject({ kind: 'out_of_credit' });
});

test('security 7: what a preview says of schedules is no schedule', async () => {
  const flow =
    SMALL['flows/hello.md']?.replace('description:', 'trigger: schedule\ncron: "* * * * *"\ndescription:') ?? '';
  const { name: preview } = await push('b', { ...SMALL, 'flows/hello.md': flow });
  expect((await bodyOf(app.get('/api/schedule'))).schedules).toEqual([]);
  expect(await app.deps.db.query('SELECT 1 FROM schedule WHERE workspace_id = $1', [await idOf(preview)])).toEqual([]);
  const paused = await app.post('/api/schedule', { workspace: preview, flow: 'hello', action: 'pause' });
  expect([paused.status, (await bodyOf(paused)).code]).toEqual([409, 'preview']);
  expect((await app.post('/api/schedule', { workspace: preview, flow: 'none', action: 'run-now' })).status).toBe(404);
});
