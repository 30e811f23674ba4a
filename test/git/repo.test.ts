import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FileChange } from '../../src/deploys/index.js';
import { removeRepository } from '../../src/git/index.js';
import { putPreview } from '../../src/previews/index.js';
import type { Caller } from '../../src/shared/roles.js';
import { setRef } from '../../src/workspaces/index.js';
import { commitTo, git } from '../support/branches.js';
import { createKey } from '../support/create-test-app.js';
import { stageRepo } from '../support/repo-stage.js';
import { AGENT, agentWrites, bodyOf, FLOW, insertRun, SMALL } from '../support/workspace-app.js';

const stage = stageRepo();
const { path, repo, live, history, head, act, branch, cloned } = stage;

/** A key of this account, as verbs see it. */
function editor(): Caller {
  return {
    tenant: stage.app.tenant,
    role: 'editor',
    workspaces: null,
    actor: { kind: 'key', id: 'k', label: 'k' },
    person: null,
    signedIn: false,
    address: null,
  };
}

test('a workspace that nobody pushed to has main alone', async () => {
  const [change] = await history();
  expect(await repo()).toEqual({
    branches: [{ name: 'main', commit: change.gitCommit, ahead: 0, behind: 0, preview: null }],
    tags: [],
    mirror: null,
  });
});

test('branches are shown with how far they are from main, tags with their commits, the service’s own refs not', async () => {
  const first = await head();
  const next = await branch('feature/next', { 'knowledge/b.md': 'B' }, { 'knowledge/c.md': 'C' });
  await stage.app.deploy(stage.ws.name, { ...SMALL, 'knowledge/a.md': 'One\n' });
  const tag = await commitTo(stage.app, stage.ws.id, { ref: 'refs/tags/v1', commits: [{ 'knowledge/t.md': 'T' }] });
  await commitTo(stage.app, stage.ws.id, { ref: 'refs/service/memory', commits: [{ 'knowledge/m.md': 'M' }] });
  await stage.app.deps.db.transaction((sql) =>
    setRef(sql, {
      workspaceId: stage.ws.id,
      name: 'refs/heads/old',
      oid: first,
      by: { kind: 'person', id: 'a', label: 'a' },
    }),
  );
  const shown = await repo();
  expect(shown.branches).toEqual([
    { name: 'main', commit: expect.any(String), ahead: 0, behind: 0, preview: null },
    { name: 'feature/next', commit: next, ahead: 2, behind: 1, preview: null },
    { name: 'old', commit: first, ahead: 0, behind: 1, preview: null },
  ]);
  expect(shown.tags).toEqual([{ name: 'v1', commit: tag }]);
});

describe('a branch’s net change', () => {
  test('is what it changed since it left main, with line diffs, whatever happened on main', async () => {
    const base = await head();
    const commit = await branch(
      'next',
      { 'knowledge/a.md': 'One\n2\nThree\n', 'knowledge/x.md': 'gone again' },
      {
        'knowledge/x.md': null,
        'knowledge/b.md': 'B\n',
        'agents/writer.md': null,
        'agents/poet.md': AGENT,
        'flows/hello.md': FLOW,
      },
    );
    await stage.app.deploy(stage.ws.name, { ...SMALL, 'knowledge/a.md': 'Main\n' });
    const change = await repo('?branch=next');
    expect(change).toMatchObject({ branch: 'next', commit, base, ahead: 2, behind: 1 });
    expect(change.files.map((file: { path: string }) => file.path)).toEqual([
      'agents/poet.md',
      'agents/writer.md',
      'knowledge/a.md',
      'knowledge/b.md',
    ]);
    expect(change.files[2]).toEqual({
      path: 'knowledge/a.md',
      before: 'One\nTwo\nThree\n',
      after: 'One\n2\nThree\n',
      diff: [
        { op: ' ', text: 'One' },
        { op: '-', text: 'Two' },
        { op: '+', text: '2' },
        { op: ' ', text: 'Three' },
      ],
      binary: false,
      truncated: false,
    });
    expect(change.files[3]).toMatchObject({ before: null, after: 'B\n', diff: [{ op: '+', text: 'B' }] });
    expect((await repo('?branch=next&path=knowledge/b.md')).files).toEqual([change.files[3]]);
    expect((await repo('?branch=main')).files).toEqual([]);
  });

  test('carries what is no text without it, and as much as one answer holds', async () => {
    const big = `${'x'.repeat(100)}\n`.repeat(25_000);
    await branch('next', { 'knowledge/a.md': big, 'knowledge/b.md': big, 'files.bin': 'a\0b' });
    const { files } = await repo('?branch=next');
    expect(files.map((file: FileChange) => [file.path, file.binary, file.truncated])).toEqual([
      ['files.bin', true, false],
      ['knowledge/a.md', false, false],
      ['knowledge/b.md', false, true],
    ]);
    expect((await repo('?branch=next&path=knowledge/b.md')).files[0].after).toBe(big);
  });

  test('of an unknown branch is 404, of a path that is none 422', async () => {
    expect((await stage.app.get(path('?branch=nothing'))).status).toBe(404);
    expect((await stage.app.get(path('?branch=--help'))).status).toBe(404);
    expect((await stage.app.get(path('?branch=nothing&path=../x'))).status).toBe(422);
    expect((await stage.app.get(path('?brunch=x'))).status).toBe(422);
  });
});

describe('deploying a ref', () => {
  test('of a revision is going back as a new commit on main, and says so', async () => {
    const before = await live();
    const [first] = await history();
    await stage.app.deploy(stage.ws.name, { ...SMALL, 'knowledge/new.md': 'New' });
    const parent = await head();
    const [status, answer] = await act({ action: 'deploy', ref: first.id });
    expect([status, answer]).toMatchObject([
      200,
      { ok: true, applied: true, added: ['knowledge/a.md'], removed: ['knowledge/new.md'] },
    ]);
    expect(await live()).toEqual(before);
    expect((await history())[0]).toMatchObject({
      id: answer.commit,
      via: 'rollback',
      message: expect.stringContaining(`Roll back to ${first.id.slice(0, 10)}`),
    });
    await cloned((folder) => {
      expect(git(folder, 'rev-parse', 'HEAD^')).toBe(parent);
      expect(git(folder, 'rev-parse', 'HEAD^{tree}')).toBe(git(folder, 'rev-parse', `${first.gitCommit}^{tree}`));
    });
  });

  test('of a tag on an old revision is going back as well', async () => {
    const parent = await head();
    const { db } = stage.app.deps;
    await commitTo(stage.app, stage.ws.id, { ref: 'refs/heads/next', commits: [{ 'knowledge/n.md': 'N' }] });
    await db.transaction((sql) =>
      setRef(sql, { workspaceId: stage.ws.id, name: 'refs/tags/old', oid: parent, by: editor().actor }),
    );
    await stage.app.deploy(stage.ws.name, { ...SMALL, 'knowledge/new.md': 'New' });
    expect((await act({ action: 'deploy', ref: 'old' }))[1]).toMatchObject({ applied: true });
    expect((await history())[0]).toMatchObject({
      via: 'rollback',
      message: expect.stringMatching(/^Deploy tag old \(/),
    });
    expect((await act({ action: 'deploy', ref: 'next' }))[1]).toMatchObject({ applied: true });
    expect((await history())[0]).toMatchObject({ via: 'deploy' });
  });

  test('of a branch, a tag, and the whole name of either makes its very tree live, marks of programs included', async () => {
    const ready = {
      ref: 'refs/heads/next',
      commits: [{ 'scripts/run.sh': 'echo 1\n' }],
      prepare: (folder: string) => chmodSync(join(folder, 'scripts/run.sh'), 0o755),
    };
    const commit = await commitTo(stage.app, stage.ws.id, ready);
    const tag = await commitTo(stage.app, stage.ws.id, { ref: 'refs/tags/v1', commits: [{ 'knowledge/t.md': 'T' }] });
    expect((await act({ action: 'deploy', ref: 'next' }))[1]).toMatchObject({
      applied: true,
      added: ['scripts/run.sh'],
    });
    expect((await history())[0]).toMatchObject({
      via: 'deploy',
      message: `Deploy branch next (${commit.slice(0, 10)}): Change scripts/run.sh`,
    });
    await cloned((folder) =>
      expect(git(folder, 'rev-parse', 'HEAD^{tree}')).toBe(git(folder, 'rev-parse', `${commit}^{tree}`)),
    );
    expect((await act({ action: 'deploy', ref: 'v1' }))[1]).toMatchObject({ applied: true, added: ['knowledge/t.md'] });
    expect((await act({ action: 'deploy', ref: 'refs/heads/next' }))[1]).toMatchObject({ applied: true });
    expect((await act({ action: 'deploy', ref: 'refs/tags/v1' }))[1]).toMatchObject({ applied: true });
    expect((await act({ action: 'deploy', ref: tag }))[0]).toBe(404);
    await removeRepository(stage.app.deps.config.dataDir, stage.ws.id);
    await cloned((folder) =>
      expect(git(folder, 'rev-parse', 'HEAD^{tree}')).toBe(git(folder, 'rev-parse', `${tag}^{tree}`)),
    );
  });

  test('of one that differs in marks of programs alone makes it live, and a move keeps the mark', async () => {
    const file = 'scripts/run.sh';
    await stage.app.deploy(stage.ws.name, { ...SMALL, 'knowledge/a.md': 'A', [file]: 'echo 1\n' });
    const marked = (mode: number) => ({
      commits: [{ [file]: 'echo 1\n' }],
      prepare: (folder: string) => chmodSync(join(folder, file), mode),
    });
    const modes = () => cloned((folder) => git(folder, 'ls-tree', '-r', 'HEAD', 'scripts').slice(0, 6));
    const [old] = await history();
    await commitTo(stage.app, stage.ws.id, { ref: 'refs/heads/next', ...marked(0o755) });
    expect((await act({ action: 'deploy', ref: 'next' }))[1]).toMatchObject({ applied: true, changed: [file] });
    expect((await act({ action: 'deploy', ref: 'next' }))[1]).toMatchObject({ applied: false, changed: [] });
    expect([await modes(), (await history())[0]]).toEqual(['100755', expect.objectContaining({ paths: [file] })]);
    const [source, to] = [`/api/workspaces/${stage.ws.name}/source`, 'scripts/go.sh'];
    expect((await stage.app.patch(source, { from: file, to })).status).toBe(200);
    expect(await modes()).toBe('100755');
    expect((await stage.app.put(source, { path: to, content: 'echo 2\n' })).status).toBe(200);
    expect(await modes()).toBe('100755');
    expect((await stage.app.patch(source, { from: to, to: file })).status).toBe(200);
    expect((await act({ action: 'deploy', ref: old.id }))[1]).toMatchObject({ applied: true, changed: [file] });
    expect(await modes()).toBe('100644');
  });

  test('of a commit on main that was no revision of its own is by its full hash', async () => {
    const commit = await branch('next', { 'knowledge/b.md': 'B' }, { 'knowledge/c.md': 'C' });
    expect((await act({ action: 'merge', branch: 'next' }))[0]).toBe(200);
    const middle = await cloned((folder) => git(folder, 'rev-parse', `${commit}^`));
    expect((await act({ action: 'deploy', ref: middle }))[1]).toMatchObject({
      applied: true,
      removed: ['knowledge/c.md'],
    });
    expect((await act({ action: 'deploy', ref: middle.slice(0, 12) }))[0]).toBe(404);
  });

  test('of what is live changes nothing', async () => {
    expect((await act({ action: 'deploy', ref: 'main' }))[1]).toMatchObject({ applied: false });
    expect(await history()).toHaveLength(1);
  });

  test('keeps what agents wrote since, but for files that the ref has otherwise', async () => {
    await stage.app.deploy(stage.ws.name, { ...SMALL, 'memory/writer/a.md': 'old', 'memory/writer/b.md': 'old' });
    const [first] = await history();
    await stage.app.deploy(stage.ws.name, { ...SMALL, 'memory/writer/a.md': 'old', 'memory/writer/b.md': 'new' });
    await agentWrites(stage.app, { id: stage.ws.id, path: 'memory/writer/a.md', content: 'agent', seen: 'old' });
    await agentWrites(stage.app, { id: stage.ws.id, path: 'memory/writer/b.md', content: 'agent', seen: 'new' });
    await act({ action: 'deploy', ref: first.id });
    const tree = await live();
    expect([tree['memory/writer/a.md'], tree['memory/writer/b.md']]).toEqual(['agent', 'old']);
  });

  test('waits for nobody: over live runs it is 409 with them, and force does it', async () => {
    const [first] = await history();
    await stage.app.deploy(stage.ws.name, SMALL);
    const run = await insertRun(stage.app, stage.ws.id);
    expect(await act({ action: 'deploy', ref: first.id })).toMatchObject([
      409,
      { code: 'deploy/live-runs', runs: [{ id: run }] },
    ]);
    expect(await act({ action: 'deploy', ref: first.id, force: true })).toMatchObject([200, { applied: true }]);
  });

  test('of a tree with errors, with links, or of no commit is refused, and nothing has moved', async () => {
    await branch('broken', { 'flows/hello.md': FLOW.replace('@writer', '@nobody') });
    await commitTo(stage.app, stage.ws.id, {
      ref: 'refs/heads/linked',
      commits: [{}],
      prepare: (folder) => symlinkSync('/etc/passwd', join(folder, 'knowledge/link.md')),
    });
    const before = await head();
    expect(await act({ action: 'deploy', ref: 'broken' })).toMatchObject([
      422,
      { ok: false, issues: [{ path: 'flows/hello.md' }] },
    ]);
    expect(await act({ action: 'deploy', ref: 'linked' })).toMatchObject([
      422,
      { ok: false, issues: [{ path: 'knowledge/link.md', code: 'file/symlink' }] },
    ]);
    expect(await act({ action: 'deploy', ref: 'nothing' })).toEqual([404, { error: 'no such ref' }]);
    expect(await act({ action: 'deploy', ref: '0'.repeat(40) })).toEqual([404, { error: 'no such ref' }]);
    expect(await act({ action: 'deploy', ref: '--all' })).toEqual([404, { error: 'no such ref' }]);
    expect(await head()).toBe(before);
  });

  test('of the push that waits makes main that very commit, over the live runs that it waited for', async () => {
    await insertRun(stage.app, stage.ws.id);
    const commit = await commitTo(stage.app, stage.ws.id, {
      ref: 'refs/service/pending',
      commits: [{ 'knowledge/b.md': 'B' }],
    });
    await stage.app.deps.db.query(
      `INSERT INTO pending_push (workspace_id, oid, caller, reason) VALUES ($1, $2, $3, 'a run')`,
      [stage.ws.id, commit, JSON.stringify(editor())],
    );
    expect((await act({ action: 'deploy', ref: 'refs/service/pending' }))[0]).toBe(409);
    expect(await act({ action: 'deploy', ref: 'refs/service/pending', force: true })).toMatchObject([
      200,
      { applied: true, commit },
    ]);
    expect(await head()).toBe(commit);
    expect(await stage.app.deps.db.query('SELECT 1 FROM pending_push WHERE workspace_id = $1', [stage.ws.id])).toEqual(
      [],
    );
    expect((await act({ action: 'deploy', ref: 'refs/service/pending' }))[0]).toBe(404);
  });
});

test('a push that waits and conflicts with an edit waits all the same while runs are live, and is refused by force', async () => {
  await insertRun(stage.app, stage.ws.id);
  const commit = await commitTo(stage.app, stage.ws.id, {
    ref: 'refs/service/pending',
    commits: [{ 'knowledge/a.md': 'mine\n' }],
  });
  await stage.app.deps.db.query(
    `INSERT INTO pending_push (workspace_id, oid, caller, reason) VALUES ($1, $2, $3, 'a run')`,
    [stage.ws.id, commit, JSON.stringify(editor())],
  );
  const source = `/api/workspaces/${stage.ws.name}/source`;
  expect((await stage.app.put(source, { path: 'knowledge/a.md', content: 'theirs\n' })).status).toBe(200);
  const pending = () => stage.app.deps.db.query('SELECT oid FROM pending_push WHERE workspace_id = $1', [stage.ws.id]);
  const before = await pending();
  expect(await act({ action: 'deploy', ref: 'refs/service/pending' })).toMatchObject([
    409,
    { code: 'deploy/live-runs', live: 1 },
  ]);
  expect([before.length, await pending()]).toEqual([1, before]);
  expect(await act({ action: 'deploy', ref: 'refs/service/pending', force: true })).toMatchObject([
    422,
    { code: 'push/conflict', paths: ['knowledge/a.md'] },
  ]);
});

describe('deleting a branch', () => {
  test('takes its preview with it, with all that is in it', async () => {
    const commit = await branch('next', { 'knowledge/b.md': 'B' });
    const caller = editor();
    const files = Object.entries({ ...SMALL, 'knowledge/b.md': 'B' }).map(([file, text]) => ({
      path: file,
      content: Buffer.from(text),
    }));
    const preview = await putPreview(stage.app.deps, caller, {
      workspace: stage.ws.name,
      branch: 'next',
      files,
      executable: new Set(),
      commit,
      message: 'B',
      moveRef: async () => undefined,
    });
    expect((await repo()).branches[1].preview).toBe(preview.name);
    expect(await act({ action: 'delete-branch', branch: 'next' })).toEqual([
      200,
      { ok: true, branch: 'next', preview: preview.name },
    ]);
    expect((await repo()).branches).toHaveLength(1);
    expect((await stage.app.get(`/api/workspaces/${preview.name}`)).status).toBe(404);
    await cloned((folder) => expect(git(folder, 'branch', '-r')).not.toContain('next'));
    expect(await act({ action: 'delete-branch', branch: 'next' })).toEqual([404, { error: 'no such branch' }]);
  });

  test('of main is refused', async () => {
    expect((await act({ action: 'delete-branch', branch: 'main' }))[0]).toBe(422);
    expect((await act({ action: 'merge', branch: 'main' }))[0]).toBe(422);
  });
});

test('an action that there is not is 422, and so is one without what it needs', async () => {
  for (const body of [
    {},
    { action: 'burn' },
    { action: 'deploy' },
    { action: 'merge', branch: '' },
    { action: 'mirror-now', url: 'x' },
  ])
    expect((await act(body))[0]).toBe(422);
  const refused = (body: object) => act(body).then(([, answer]) => answer.error);
  expect(await refused({ actoin: 'deploy', ref: 'main' })).toBe(
    'body.actoin: unknown key; did you mean "action"? (and 1 more)',
  );
  expect(await refused({ action: 'dploy', ref: 'main' })).toBe(
    "body.action: it may be: 'deploy', 'merge', 'delete-branch', 'mirror', 'mirror-now'",
  );
});

test('a call that is made again under its key is made once', async () => {
  await branch('next', { 'knowledge/b.md': 'B' });
  const init = { headers: { 'idempotency-key': `merge-${stage.ws.id}` } };
  const first = await act({ action: 'merge', branch: 'next' }, init);
  expect(await act({ action: 'merge', branch: 'next' }, init)).toEqual(first);
  expect(first[1].applied).toBe(true);
});

test('viewers read, editors act, and the mirror is for admins', async () => {
  const as = async (role: 'viewer' | 'editor') => ({
    as: await createKey(stage.app.deps, { tenant: stage.app.tenant, owner: stage.app.owner, role }),
  });
  const [viewer, editor] = [await as('viewer'), await as('editor')];
  expect((await stage.app.get(path(), viewer)).status).toBe(200);
  expect(await act({ action: 'deploy', ref: 'main' }, viewer)).toMatchObject([403, { need: 'editor' }]);
  expect((await act({ action: 'deploy', ref: 'main' }, editor))[0]).toBe(200);
  expect(await act({ action: 'mirror', url: null }, editor)).toEqual([
    403,
    { error: 'needs role admin to set a mirror', need: 'admin' },
  ]);
  expect((await act({ action: 'mirror-now' }, editor))[0]).toBe(409);
});

test('history has the change of every door, newest first, with before and after; path narrows it to one file', async () => {
  const file = 'memory/writer/a.md';
  await stage.app.deploy(stage.ws.name, { ...SMALL, [file]: '1' });
  await stage.app.put(`/api/workspaces/${stage.ws.name}/source?path=${file}`, { content: '2' });
  await branch('next', { [file]: '3', 'knowledge/b.md': 'B' }, { 'knowledge/c.md': 'C' });
  await act({ action: 'merge', branch: 'next' });
  await agentWrites(stage.app, { id: stage.ws.id, path: file, content: '4', seen: '3' });
  const [, , , first] = await history();
  await act({ action: 'deploy', ref: first.id });
  await stage.app.put(`/api/workspaces/${stage.ws.name}/source?path=knowledge/d.md`, { content: 'D' });
  const of = async (query: string) => await bodyOf(stage.app.get(`/api/workspaces/${stage.ws.name}/history?${query}`));
  const { changes } = await of(`path=${file}`);
  expect(changes.map(({ via }: { via: string }) => via)).toEqual(['rollback', 'agent', 'deploy', 'edit', 'deploy']);
  const texts = await Promise.all(
    changes.map(async ({ id }: { id: string }) => (await of(`id=${id}&path=${file}`)).files[0]),
  );
  expect(texts.map(({ before, after }) => [before, after])).toEqual([
    ['4', '1'],
    ['3', '4'],
    ['2', '3'],
    ['1', '2'],
    [null, '1'],
  ]);
  expect(changes.map(({ runId }: { runId: string | null }) => runId)).toEqual([null, 'run-1', null, null, null]);
  const page = await of('limit=2');
  expect(page.changes.map(({ via }: { via: string }) => via)).toEqual(['edit', 'rollback']);
  expect((await of(`limit=2&cursor=${page.next}`)).changes.map(({ via }: { via: string }) => via)).toEqual([
    'agent',
    'deploy',
  ]);
});
