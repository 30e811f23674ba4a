import { describe, expect, test } from 'vitest';
import { putPreview, setRef } from '../../src/content/index.js';
import type { FileChangeBody } from '../../src/contract/history.js';
import { commitTo, git } from '../support/branches.js';
import { createKey } from '../support/create-test-app.js';
import { pusher } from '../support/previews.js';
import { stageRepo } from '../support/repo-stage.js';
import { AGENT, agentWrites, bodyOf, FLOW, SMALL } from '../support/workspace-app.js';

const stage = stageRepo();
const { path, repo, history, head, act, branch, cloned } = stage;

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
    expect(files.map((file: FileChangeBody) => [file.path, file.binary, file.truncated])).toEqual([
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

describe('deleting a branch', () => {
  test('takes its preview with it, with all that is in it', async () => {
    const commit = await branch('next', { 'knowledge/b.md': 'B' });
    const caller = pusher(stage.app.tenant);
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
    expect(await act({ action: 'delete-branch', branch: 'next' })).toEqual([
      404,
      { error: 'no such branch', code: 'not-found' },
    ]);
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
    'body.action: must be one of: deploy, merge, delete-branch, drop-pending, mirror, mirror-now',
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
    { error: 'needs role admin to set a mirror', code: 'forbidden', need: 'admin' },
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
