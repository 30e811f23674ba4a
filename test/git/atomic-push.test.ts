import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { MAX_PREVIEWS } from '../../src/content/index.js';
import { newId } from '../../src/shared/ids.js';
import { commitAll, createRemoteApp, git, type RemoteApp, readFolder, runGit } from '../support/git-remote.js';
import { bodyOf, insertRun } from '../support/workspace-app.js';

const BROKEN = '---\ndescription: x\n---\n\n## Go @nobody\n\nGo.\n';

let app: RemoteApp;
beforeAll(async () => {
  app = await createRemoteApp();
});

const put = (folder: string, path: string, content: string): void => {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), content);
};

/** A workspace, its clone, and what of the remote an observer sees. */
async function start() {
  const { name, id, clone } = await app.start();
  return {
    name,
    id,
    clone,
    push: (...refs: readonly string[]) => runGit(clone, 'push', '--atomic', 'origin', ...refs),
    refs: async () =>
      Object.fromEntries(
        (await git(clone, 'ls-remote', 'origin'))
          .split('\n')
          .map((line) => line.split('\t'))
          .map(([oid, ref]) => [ref, oid]),
      ),
    /** All that a push could have changed. */
    state: async () => ({
      refs: await git(clone, 'ls-remote', 'origin'),
      workspace: await bodyOf(app.get(`/api/workspaces/${name}`)),
      previews: (await app.deps.db.query('SELECT name FROM workspace WHERE preview_of = $1 ORDER BY name', [id]))
        .length,
      changes: (await bodyOf(app.get(`/api/workspaces/${name}/history`))).changes.length,
      // A pack that no transaction took is given up.
      packs: await app.deps.db.query('SELECT id, seq FROM git_pack WHERE workspace_id = $1 ORDER BY id', [id]),
    }),
    notices: () => app.deps.db.query(`SELECT 1 FROM notice WHERE workspace_id = $1 AND event = 'deploy.refused'`, [id]),
  };
}

test('an atomic push moves all of its refs: main, a branch with its preview, a tag, and a deletion', async () => {
  const { name, clone, push, refs } = await start();
  put(clone, 'knowledge/a.md', 'one\n');
  const first = await commitAll(clone);
  await git(clone, 'branch', 'next');
  await git(clone, 'tag', 'v1');
  const moved = await push('main', 'next', 'v1');
  expect(moved).toMatchObject({ code: 0, err: expect.stringContaining(`${name} is live at ${first.slice(0, 12)}`) });
  expect(await refs()).toMatchObject({ 'refs/heads/main': first, 'refs/heads/next': first, 'refs/tags/v1': first });
  expect((await app.get(`/api/workspaces/${name}-preview-next`)).status).toBe(200);

  put(clone, 'knowledge/b.md', 'two\n');
  const second = await commitAll(clone);
  expect(await push('main', 'main:other', ':next')).toMatchObject({ code: 0 });
  const now = await refs();
  expect(now).toMatchObject({ 'refs/heads/main': second, 'refs/heads/other': second });
  expect(now).not.toHaveProperty('refs/heads/next');
  expect((await app.get(`/api/workspaces/${name}-preview-next`)).status).toBe(404);
  expect(readFolder(clone)).toEqual(await app.readTree(name));
});

test('one of three refs that is refused leaves all as they were, whatever refuses it; each ref is answered', async () => {
  const { clone, push, state, notices } = await start();
  put(clone, 'knowledge/a.md', 'one\n');
  await commitAll(clone);
  expect((await push('main', 'main:next')).code).toBe(0);
  put(clone, 'knowledge/b.md', 'two\n');
  await commitAll(clone);
  await git(clone, 'tag', 'v1');
  await git(clone, 'checkout', '-q', '-b', 'bad');
  put(clone, 'flows/broken.md', BROKEN);
  await commitAll(clone);
  const before = await state();
  for (const [ref, why] of [
    ['bad', /bad -> bad \(the tree has one error/],
    ['main:refs/notes/x', /only branches and tags can be pushed/],
    ['main:next/below', /there is refs\/heads\/next in its way/],
    [`main:refs/heads/${'x'.repeat(200)}`, /its name is over 200 bytes/],
  ] as const) {
    const { code, err } = await push('main', 'v1', ref);
    expect([code, err], ref).toEqual([1, expect.stringMatching(why)]);
    expect(err, ref).toMatch(/main -> main \(not moved: the push is atomic, and refs\/\S+ was refused\)/);
    expect(err, ref).toMatch(/v1 -> v1 \(not moved/);
    expect(err, ref).not.toContain('is live at');
    expect(await state(), ref).toEqual(before);
  }
  expect(await notices()).toEqual([]);
  // Nothing else was wrong with it.
  expect((await push('main', 'v1')).code).toBe(0);
});

test('a main that is refused holds the other refs, and its refusal is noted; every ref that is wrong says why', async () => {
  const { clone, push, state, notices } = await start();
  const before = await state();
  await git(clone, 'branch', 'good');
  await git(clone, 'tag', 'v1');
  put(clone, 'flows/broken.md', BROKEN);
  await commitAll(clone);
  const { code, err } = await push('main', 'good', 'v1', 'main:bad');
  expect(code).toBe(1);
  expect(err).toMatch(/main -> main \(the tree has one error/);
  expect(err).toMatch(/main -> bad \(the tree has one error/);
  expect(err).toMatch(/good -> good \(not moved/);
  expect(err).toMatch(/v1 -> v1 \(not moved/);
  expect(err).toMatch(/^remote: flows\/broken\.md:\d+:\d+ ref\/agent /m);
  expect(await state()).toEqual(before);
  expect(await notices()).toHaveLength(1);

  await git(clone, 'reset', '-q', '--hard', 'origin/main');
  await git(clone, 'commit', '-q', '--amend', '--allow-empty', '-m', 'Another root');
  expect((await push('+main', 'good')).err).toMatch(/main -> main \(non-fast-forward.*\n.*good -> good \(not moved/);
  expect((await push(':main', 'good')).err).toMatch(/main \(main is what is live: it cannot be deleted\)/);
  expect(await state()).toEqual(before);
});

test('over live runs nothing of an atomic push moves or waits, later the same push is taken', async () => {
  const { id, name, clone, push, state } = await start();
  put(clone, 'knowledge/a.md', 'one\n');
  const commit = await commitAll(clone);
  await git(clone, 'branch', 'next');
  const run = await insertRun(app, id);
  const before = await state();
  for (const refs of [
    ['main', 'next'],
    ['next', 'main'],
  ]) {
    const { code, err } = await push(...refs);
    expect([code, err]).toEqual([1, expect.stringMatching(/main -> main \(a live run must end first, and an atomic/)]);
    expect(err).toContain(run);
    expect(await state()).toEqual(before);
  }
  expect(before.workspace).toMatchObject({ pending: null });
  // Other refs do not wait for runs.
  expect((await push('next')).code).toBe(0);
  await app.deps.db.query('UPDATE run SET finished_at = now() WHERE id = $1', [run]);
  expect((await push('main', ':next')).code).toBe(0);
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ revision: commit, pending: null });
});

test('what is refused in the transaction itself takes main back, which was moved in it before', async () => {
  const { name, id, clone, push, state } = await start();
  for (let i = 0; i < MAX_PREVIEWS; i += 1)
    await app.deps.db.query(
      'INSERT INTO workspace (id, tenant_id, name, preview_of, preview_branch) VALUES ($1, $2, $3, $4, $3)',
      [newId(), app.tenant, `${name}-filler-${i}`, id],
    );
  put(clone, 'knowledge/a.md', 'one\n');
  const commit = await commitAll(clone);
  await git(clone, 'branch', 'next');
  const before = await state();
  const { code, err } = await push('main', 'next');
  expect([code, err]).toEqual([1, expect.stringMatching(/next -> next \(.* has 50 previews, which is the limit/)]);
  expect(err).toMatch(/main -> main \(not moved: the push is atomic, and refs\/heads\/next was refused\)/);
  expect(err).not.toMatch(/is live at|was made/);
  // The pack was kept for the transaction, and is given up behind the answer.
  await expect.poll(state).toEqual(before);
  expect((await push('main')).code).toBe(0);
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ revision: commit });
});

test('main alone is pushed as without --atomic: over live runs it waits', async () => {
  const { id, name, clone, push } = await start();
  put(clone, 'knowledge/a.md', 'one\n');
  const commit = await commitAll(clone);
  const run = await insertRun(app, id);
  expect((await push('main')).code).toBe(0);
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ pending: { revision: commit } });
  await app.deps.db.query('UPDATE run SET finished_at = now() WHERE id = $1', [run]);
});

test('more branches than there may be previews are refused before their trees are read', async () => {
  const { push, state } = await start();
  const before = await state();
  const { code, err } = await push(...Array.from({ length: MAX_PREVIEWS + 1 }, (_, n) => `main:refs/heads/b${n}`));
  expect([code, err]).toEqual([1, expect.stringContaining('an atomic push has at most 50 branches')]);
  expect(err).toMatch(/main -> b0 \(not moved/);
  expect(await state()).toEqual(before);
});

test('one ref too many holds all of an atomic push', async () => {
  const { id, clone, push, refs } = await start();
  const head = await git(clone, 'rev-parse', 'HEAD');
  await app.deps.db.query(
    `INSERT INTO git_ref (workspace_id, name, oid, by) SELECT $1, 'refs/tags/t' || n, $2, '{"kind":"key","id":"k","label":"k"}'
      FROM generate_series(1, 998) n`,
    [id, head],
  );
  const before = await refs();
  expect((await push('main:refs/tags/a', 'main:refs/tags/b')).err).toMatch(
    /a -> a|main -> a \(not moved[^\n]*\n.*main -> b \(there are 1000 refs, which is the limit/,
  );
  expect(await refs()).toEqual(before);
  expect((await push('main:refs/tags/a')).code).toBe(0);
});

test('atomic pushes at once over the same refs in opposite order, beside other writers: each moves all of its refs or none, and none waits for ever', async () => {
  const { name, id, clone, refs } = await start();
  const clones = await Promise.all(['one', 'two', 'three'].map(() => app.clone(name)));
  const tips = new Map<string, string>();
  for (const [index, folder] of clones.entries()) {
    put(folder, `knowledge/by-${index}.md`, `${index}\n`);
    tips.set(folder, await commitAll(folder));
  }
  const orders = [
    ['HEAD:main', 'HEAD:a', 'HEAD:b', 'HEAD:refs/tags/c'],
    ['HEAD:refs/tags/c', 'HEAD:b', 'HEAD:a', 'HEAD:main'],
    ['HEAD:b', 'HEAD:main', 'HEAD:refs/tags/c', 'HEAD:a'],
  ];
  const others = [
    runGit(clone, 'push', 'origin', 'HEAD:other', 'HEAD:refs/tags/other'),
    runGit(clone, 'push', '--atomic', 'origin', 'HEAD:more', 'HEAD:refs/tags/more'),
  ];
  const said = await Promise.all(
    clones.map((folder, index) => runGit(folder, 'push', '--atomic', 'origin', ...(orders[index] ?? []))),
  );
  for (const { code, err } of await Promise.all(others)) expect([code, err]).toEqual([0, expect.any(String)]);
  expect(said.map(({ code }) => code).sort()).toEqual([0, 1, 1]);
  const winner = tips.get(clones[said.findIndex(({ code }) => code === 0)] ?? '');
  expect(await refs()).toMatchObject({
    'refs/heads/main': winner,
    'refs/heads/a': winner,
    'refs/heads/b': winner,
    'refs/tags/c': winner,
  });
  for (const { err } of said.filter(({ code }) => code === 1)) expect(err).not.toMatch(/internal error|is live at/);
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ revision: winner });
  await expect
    .poll(() => app.deps.db.query('SELECT 1 FROM git_pack WHERE workspace_id = $1 AND seq IS NULL', [id]))
    .toEqual([]);
});

test('the library takes an atomic push of its main; another ref refuses both', async () => {
  const library = '_library';
  const clone = await app.clone(library);
  put(clone, 'knowledge/house.md', 'The house.\n');
  await commitAll(clone);
  const both = await runGit(clone, 'push', '--atomic', 'origin', 'HEAD:main', 'HEAD:next');
  expect([both.code, both.err]).toEqual([1, expect.stringMatching(/the library has one branch, main/)]);
  expect(both.err).toMatch(/main \(not moved: the push is atomic/);
  expect(await git(clone, 'ls-remote', 'origin', 'refs/heads/main')).toBe('');
  expect(await runGit(clone, 'push', '--atomic', 'origin', 'HEAD:main')).toMatchObject({ code: 0 });
});
