import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { readLiveTree } from '../../src/content/index.js';
import { repositoryFolder } from '../../src/git/index.js';
import { createKey } from '../support/create-test-app.js';
import {
  AGENT,
  bodyOf,
  createWorkspaceApp,
  FLOW,
  fileList,
  insertRun,
  SMALL,
  type Tree,
  type WorkspaceApp,
} from '../support/workspace-app.js';

const HASH = 'abcdef0123456789abcdef0123456789abcdef01';

test('a deploy says what it added, changed and removed, and all of it is live', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace({ ...SMALL, 'knowledge/old.md': 'old\n' });
  const next = { ...SMALL, 'AGENTS.md': '# Changed\n', 'knowledge/new.md': 'new\n' };
  const result = await bodyOf(app.deploy(name, next));
  expect(result).toMatchObject({
    ok: true,
    applied: true,
    added: ['knowledge/new.md'],
    changed: ['AGENTS.md'],
    removed: ['knowledge/old.md'],
  });
  expect(result.commit).toBe(result.revision);
  expect(await app.readTree(name)).toEqual(next);
  expect((await bodyOf(app.get(`/api/workspaces/${name}`))).revision).toBe(result.revision);
});

test('a revision whose transaction was given up is never what anybody sees, though the next one has its number', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const { db } = app.deps;
  const given = db.transaction(async (sql) => {
    await sql.query(
      `INSERT INTO revision (workspace_id, seq, id, git_commit, tree_hash, manifest, plans, index, created_at, packed)
        SELECT workspace_id, seq + 1, 'given-up', git_commit, tree_hash, '{}', plans, index, created_at, packed
        FROM revision WHERE workspace_id = $1`,
      [id],
    );
    await sql.query('UPDATE workspace SET live_seq = live_seq + 1 WHERE id = $1', [id]);
    expect(await readLiveTree(sql, id)).toMatchObject({ revision: 'given-up', source: new Map() });
    throw new Error('given up');
  });
  await expect(given).rejects.toThrow('given up');
  expect(await app.readTree(name)).toEqual(SMALL);
  const next = { ...SMALL, 'knowledge/a.md': 'a\n' };
  await app.deploy(name, next);
  expect(await app.readTree(name)).toEqual(next);
});

test('a dry run answers what a deploy would, also over live runs, and changes nothing', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  await insertRun(app, id);
  const before = await everything(app, id);
  const { 'flows/hello.md': _gone, ...rest } = SMALL;
  const result = await bodyOf(app.deploy(name, { ...rest, 'knowledge/a.md': 'a' }, { dryRun: true }));
  expect(result).toMatchObject({
    ...{ ok: true, applied: false, added: ['knowledge/a.md'], changed: [], removed: ['flows/hello.md'], commit: null },
  });
  expect(await everything(app, id)).toEqual(before);
});

test('a tree with errors is 422 with every issue in order, and nothing of it goes live, dry or not', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const before = await everything(app, id);
  const broken = {
    ...SMALL,
    'flows/b.md': '## X @y\n\n```\nopen\n',
    'flows/a.md': '---\nnope: 1\n---\n\n## Nobody\n\nDo it.\n',
  };
  for (const dryRun of [false, true]) {
    const response = await app.deploy(name, broken, { dryRun });
    expect(response.status).toBe(422);
    const body = await bodyOf(response);
    expect(body).toMatchObject({
      ok: false,
      applied: false,
      added: ['flows/a.md', 'flows/b.md'],
      changed: [],
      removed: [],
    });
    const places = body.issues.map((issue: { path: string; line: number }) => [issue.path, issue.line]);
    expect(places).toEqual([...places].sort());
    expect(new Set(places.map(([path]: [string]) => path))).toEqual(new Set(['flows/a.md', 'flows/b.md']));
    for (const issue of body.issues) {
      expect(issue).toMatchObject({
        line: expect.any(Number),
        column: expect.any(Number),
        code: expect.stringContaining('/'),
      });
    }
    expect(body.error).toContain(body.issues.find((issue: { severity: string }) => issue.severity === 'error').code);
  }
  expect(await everything(app, id)).toEqual(before);
});

test.each(['runs/a.md', 'state/hello.md', 'storage/a.txt', 'files/a', 'outputs/writer/a', 'secrets.json'])(
  'a deploy that carries %s is refused as tree/protected-path, and so is a write of it',
  async (path) => {
    const app = await createWorkspaceApp();
    const { name } = await app.workspace();
    const write = app.put(`/api/workspaces/${name}/source`, { path, content: 'x' });
    for (const response of await Promise.all([app.deploy(name, { ...SMALL, [path]: 'x' }), write])) {
      expect(response.status).toBe(422);
      expect((await bodyOf(response)).issues).toEqual([
        expect.objectContaining({ path, code: 'tree/protected-path', severity: 'error' }),
      ]);
    }
  },
);

test.each([
  '../x',
  '/x',
  'a\\b',
  'a/%2e%2e/b',
  '.git/config',
  'a//b',
  'knowledge/e\u0301.md',
  'a\u0000b',
  'AGENTS.md/x',
])('security 29: the path %j is 422 in a deploy and never becomes a file', async (path) => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const response = await app.deploy(name, { ...SMALL, [path]: 'x' });
  expect(response.status).toBe(422);
  expect((await bodyOf(response)).issues.map((issue: { path: string }) => issue.path)).toContain(path);
  expect(await app.readTree(name)).toEqual(SMALL);
});

test('the same path twice in one deploy is 422', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const files = [...fileList(SMALL), { path: 'AGENTS.md', content: 'again' }];
  expect((await app.post(`/api/workspaces/${name}/deploy`, { files })).status).toBe(422);
});

test('live runs refuse a deploy with 409 that names them, until force', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const runId = await insertRun(app, id, { status: 'awaiting-approval' });
  const next = { ...SMALL, 'AGENTS.md': 'new' };
  const refused = await app.deploy(name, next);
  expect(refused.status).toBe(409);
  expect((await bodyOf(refused)).runs).toEqual([{ id: runId, flow: 'hello', status: 'awaiting-approval' }]);
  expect(await app.readTree(name)).toEqual(SMALL);
  expect((await bodyOf(app.deploy(name, next, { force: true }))).applied).toBe(true);
});

test('ended runs, evals and the children of other runs refuse no deploy', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  await insertRun(app, id, { finishedAt: new Date(), status: 'completed' });
  await insertRun(app, id, { mode: 'eval' });
  await insertRun(app, id, { parentId: 'another' });
  expect((await app.deploy(name, { ...SMALL, 'AGENTS.md': 'new' })).status).toBe(200);
});

test('a start that holds the workspace and a deploy wait for each other: no run begins unseen', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  let deploying: Promise<Response> | undefined;
  await app.deps.db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM workspace WHERE id = $1 FOR SHARE', [id]);
    deploying = app.deploy(name, { ...SMALL, 'AGENTS.md': 'new' });
    // The deploy is at the lock once Postgres shows it waiting.
    await expect
      .poll(() => app.deps.db.query(`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`))
      .not.toEqual([]);
    await insertRun({ ...app, deps: { ...app.deps, db: { ...app.deps.db, query: sql.query } } }, id);
  });
  expect((await deploying)?.status).toBe(409);
});

test('base refuses a deploy over another revision with 409, and takes the live one by either of its names', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const first = await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': '1' }, { commit: HASH }));
  const second = await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': '2' }, { base: HASH }));
  const stale = await app.deploy(name, { ...SMALL, 'AGENTS.md': '3' }, { base: first.gitCommit });
  expect(stale.status).toBe(409);
  expect((await bodyOf(stale)).revision).toBe(second.revision);
  const third = await app.deploy(name, { ...SMALL, 'AGENTS.md': '3' }, { base: second.gitCommit });
  expect(third.status).toBe(200);
});

test('a full hash is the revision: repeated with the same tree it changes nothing, with another it is 409', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const tree = { ...SMALL, 'AGENTS.md': '1' };
  const first = await bodyOf(app.deploy(name, tree, { commit: HASH.toUpperCase() }));
  expect(first).toMatchObject({ applied: true, commit: HASH, revision: HASH });
  expect(first.gitCommit).not.toBe(HASH);
  await app.deploy(name, { ...SMALL, 'AGENTS.md': '2' });

  const repeat = await bodyOf(app.deploy(name, tree, { commit: HASH }));
  expect(repeat).toMatchObject({ ok: true, applied: false, added: [], changed: [], removed: [], commit: HASH });
  expect((await app.readTree(name))['AGENTS.md']).toBe('2');
  expect((await app.deploy(name, tree, { commit: first.gitCommit })).status).toBe(200);
  expect((await app.deploy(name, { ...SMALL, 'AGENTS.md': '3' }, { commit: HASH })).status).toBe(409);
});

test('twenty deploys of one hash at once apply it once', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const calls = Array.from({ length: 20 }, () => app.deploy(name, { ...SMALL, 'AGENTS.md': '1' }, { commit: HASH }));
  const all = await Promise.all(calls.map(bodyOf));
  expect(all.filter(({ applied }) => applied)).toHaveLength(1);
  expect(all.filter(({ ok }) => ok)).toHaveLength(20);
  expect(await app.deps.db.query('SELECT 1 FROM revision WHERE workspace_id = $1', [id])).toHaveLength(2);
});

test('the tree that is live already makes no revision, and a commit that is no hash is the message', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const live = await bodyOf(app.get(`/api/workspaces/${name}`));
  expect(await bodyOf(app.deploy(name, SMALL))).toMatchObject({ applied: false, revision: live.revision });
  await app.deploy(name, { ...SMALL, 'AGENTS.md': '1' }, { commit: 'Say it better' });
  const { changes } = await bodyOf(app.get(`/api/workspaces/${name}/history`));
  expect(changes[0]).toMatchObject({ message: 'Say it better', via: 'deploy', paths: ['AGENTS.md'] });
});

test('a viewer may not deploy, and a refused body names the key that was meant', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const as = await createKey(app.deps, { ...app, role: 'viewer' });
  const response = await app.post(`/api/workspaces/${name}/deploy`, { files: [] }, { as });
  expect([response.status, (await bodyOf(response)).need]).toEqual([403, 'editor']);
  const typo = await app.post(`/api/workspaces/${name}/deploy`, { files: [], dryrun: true });
  expect([typo.status, (await bodyOf(typo)).error]).toEqual([422, expect.stringContaining('dryRun')]);
  const misplaced = await app.post(`/api/workspaces/${name}/deploy?dryRun=true`, { files: fileList(SMALL) });
  expect([misplaced.status, (await bodyOf(misplaced)).error]).toEqual([422, 'query.dryRun: it belongs in the body']);
  const neither = await app.post(`/api/workspaces/${name}/deploy`, { files: [{ path: 'AGENTS.md' }] });
  expect([neither.status, (await bodyOf(neither)).error]).toEqual([422, expect.stringContaining('body.files.0')]);
});

test('security 15: of two deploys at once readers see the old tree, A or B, never a mix', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const tree = (label: string): Tree => ({
    ...SMALL,
    'AGENTS.md': `# ${label}\n`,
    'knowledge/a.md': `${label} a\n`,
    'knowledge/z.md': `${label} z\n`,
    [`knowledge/only-${label}.md`]: label,
  });
  const shas = new Map<string, string>();
  const known = new Set<string>();
  const learn = async (label: string): Promise<void> => {
    const { files } = await bodyOf(app.get(`/api/workspaces/${name}/source`));
    shas.set(label, JSON.stringify(files.map((file: { path: string; sha: string }) => [file.path, file.sha])));
    known.add(shas.get(label) ?? '');
  };
  for (const label of ['old', 'b', 'a']) {
    await app.deploy(name, tree(label));
    await learn(label);
  }
  let done = false;
  const seen = new Set<string>();
  const reader = async (): Promise<void> => {
    while (!done) {
      const { files } = await bodyOf(app.get(`/api/workspaces/${name}/source`));
      seen.add(JSON.stringify(files.map((file: { path: string; sha: string }) => [file.path, file.sha])));
    }
  };
  const reading = reader();
  for (let pair = 0; pair < 20; pair += 1) {
    const results = await Promise.all([app.deploy(name, tree('a')), app.deploy(name, tree('b'))].map(bodyOf));
    expect(results.map(({ ok }) => ok)).toEqual([true, true]);
  }
  done = true;
  await reading;
  expect([...seen].filter((each) => !known.has(each))).toEqual([]);
  expect(seen.size).toBeGreaterThan(1);
  // Each revision is whole, and follows the one before: no two of them grew from the same.
  const repository = repositoryFolder(app.deps.config.dataDir, id);
  expect(git(repository, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
  const revisions = await app.deps.db.query<{ commit: string }>(
    'SELECT git_commit AS commit FROM revision WHERE workspace_id = $1 ORDER BY seq DESC',
    [id],
  );
  expect(git(repository, 'log', '--format=%H', 'main').trim().split('\n')).toEqual(
    revisions.map(({ commit }) => commit),
  );
});

test('a compiled plan is stored once, by the digest of what it says', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const plans = () => app.deps.db.query('SELECT id FROM plan WHERE workspace_id = $1', [id]);
  const before = await plans();
  expect(before.length).toBe(2);
  await app.deploy(name, { ...SMALL, 'knowledge/a.md': 'a' });
  expect(await plans()).toEqual(before);
  await app.deploy(name, { ...SMALL, 'flows/hello.md': FLOW.replace('Say hello.', 'Say bye.') });
  expect((await plans()).length).toBe(3);
});

test('text that jsonb cannot hold deploys all the same', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const agent = AGENT.replace('description: Writes.', 'description: "a\\0b\\uD800c"');
  const response = await app.deploy(name, { ...SMALL, 'agents/writer.md': agent });
  expect(response.status).toBe(200);
  expect((await app.get(`/api/workspaces/${name}`)).status).toBe(200);
});

test('a deploy is in the audit log with who did it', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const { revision } = await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': '1' }));
  const [entry] = await app.deps.db.query<{ action: string; target: string; detail: object; actor: { kind: string } }>(
    'SELECT action, target, detail, actor FROM audit_entry WHERE tenant_id = $1 ORDER BY id DESC LIMIT 1',
    [app.tenant],
  );
  expect(entry).toMatchObject({
    action: 'workspace.deploy',
    target: name,
    detail: { revision },
    actor: { kind: 'key' },
  });
});

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
}

/** All rows of a workspace, to see that nothing moved. */
async function everything(app: WorkspaceApp, id: string): Promise<unknown> {
  const tables = ['revision', 'change', 'plan', 'memory_file', 'blob', 'storage_entry'];
  const rows = await Promise.all(
    tables.map((table) => app.deps.db.query(`SELECT * FROM ${table} WHERE workspace_id = $1 ORDER BY 1, 2`, [id])),
  );
  return [...rows, await app.deps.db.query('SELECT * FROM workspace WHERE id = $1', [id])];
}
