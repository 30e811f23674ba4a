import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { repositoryFolder } from '../../src/git/index.js';
import { createKey } from '../support/create-test-app.js';
import { commitAll, createRemoteApp, git, type RemoteApp, readFolder, runGit } from '../support/git-remote.js';
import { agentWrites, bodyOf, SMALL } from '../support/workspace-app.js';

let app: RemoteApp;
beforeAll(async () => {
  app = await createRemoteApp();
});

const put = (folder: string, path: string, content: string): void => {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), content);
};

test('a remote’s address works without .git, to fetch and to push', async () => {
  const { name } = await app.start();
  const folder = join(app.home, `${name}-plain`);
  await git(app.home, 'clone', '-q', app.url(name).replace(/\.git$/, ''), folder);
  put(folder, 'knowledge/a.md', 'pushed\n');
  const commit = await commitAll(folder);
  expect((await runGit(folder, 'push', 'origin', 'main')).code).toBe(0);
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ revision: commit });
});

test('a clone is what is live; a push goes live with its author, and a write that came in between is fetched first', async () => {
  const { name, id, clone } = await app.start();
  expect(readFolder(clone)).toEqual(await app.readTree(name));
  put(clone, 'knowledge/a.md', 'pushed\n');
  const commit = await commitAll(clone, 'Add a\n\nWith words.');
  const pushed = await runGit(clone, 'push', 'origin', 'main');
  expect(pushed).toMatchObject({ code: 0 });
  expect(pushed.err).toContain(`remote: ${name} is live at ${commit.slice(0, 12)}.`);
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ revision: commit, pending: null });
  const { changes } = await bodyOf(app.get(`/api/workspaces/${name}/history`));
  expect(changes[0]).toMatchObject({
    id: commit,
    via: 'push',
    message: 'Add a\n\nWith words.',
    paths: ['knowledge/a.md'],
  });
  const { entries } = await bodyOf(app.get('/api/audit?limit=1'));
  expect(entries[0]).toMatchObject({
    action: 'workspace.deploy',
    target: name,
    detail: { revision: commit, via: 'push' },
  });

  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/b.md', content: 'edited\n' });
  put(clone, 'knowledge/c.md', 'more\n');
  await commitAll(clone);
  const late = await runGit(clone, 'push', 'origin', 'main');
  expect(late.code).toBe(1);
  expect(late.err).toMatch(/rejected.*fetch first/);
  await git(clone, 'pull', '-q', '--rebase', 'origin', 'main');
  expect((await runGit(clone, 'push', 'origin', 'main')).code).toBe(0);
  expect(readFolder(clone)).toEqual(await app.readTree(name));
  expect(await git(clone, 'log', '--format=%an', '-1')).toBe('Ada');
  // Refs on the disk follow the answer of a push, and are there for whoever comes.
  await git(clone, 'fetch', '-q');
  const repository = repositoryFolder(app.deps.config.dataDir, id);
  expect(await git(repository, 'fsck', '--full', '--strict')).toBe('');
  expect(await git(repository, 'log', '--format=%H', 'main')).toBe(await git(clone, 'log', '--format=%H', 'main'));
});

test('security 13: a push whose tree fails the checks is refused whole, each issue on a line of its own', async () => {
  const { name, id, clone } = await app.start();
  put(clone, 'flows/bad.md', '---\nname: bad\ndescription: Bad.\nunknown_key: 1\n---\n\n## Step @nobody\n\nGo.\n');
  put(clone, 'knowledge/fine.md', 'fine\n');
  await commitAll(clone);
  const { code, err } = await runGit(clone, 'push', 'origin', 'main');
  expect(code).toBe(1);
  expect(err).toMatch(/^remote: flows\/bad\.md:4:1 flow\/unknown-key /m);
  expect(err).toMatch(/^remote: flows\/bad\.md:\d+:\d+ ref\/agent /m);
  expect(err).toMatch(/remote rejected.*2 errors/);
  expect(await app.readTree(name)).toEqual(SMALL);
  const notices = await app.deps.db.query(`SELECT 1 FROM notice WHERE workspace_id = $1 AND event = 'deploy.refused'`, [
    id,
  ]);
  expect(notices).toHaveLength(1);
  // Nothing of it stays: no pack, no object, no quarantine.
  expect(await app.deps.db.query('SELECT 1 FROM git_pack WHERE workspace_id = $1', [id])).toEqual([]);
  expect(
    (
      await runGit(
        repositoryFolder(app.deps.config.dataDir, id),
        'cat-file',
        '-e',
        await git(clone, 'rev-parse', 'HEAD'),
      )
    ).code,
  ).not.toBe(0);
  await git(clone, 'reset', '-q', '--hard', 'origin/main');
  put(clone, 'knowledge/fine.md', 'fine\n');
  await commitAll(clone);
  expect((await runGit(clone, 'push', 'origin', 'main')).code).toBe(0);
});

test('main only grows: a forced push and its deletion are refused, other refs than branches and tags too', async () => {
  const { name, clone } = await app.start();
  await git(clone, 'commit', '-q', '--amend', '--allow-empty', '-m', 'Another root');
  expect((await runGit(clone, 'push', '--force', 'origin', 'main')).err).toMatch(/remote rejected.*non-fast-forward/);
  expect((await runGit(clone, 'push', 'origin', ':main')).err).toMatch(/remote rejected.*cannot be deleted/);
  for (const ref of ['refs/service/memory', 'refs/notes/x', 'refs/pull/1/head', 'HEAD'])
    expect((await runGit(clone, 'push', 'origin', `main:${ref}`)).err, ref).toMatch(/rejected|error/);
  expect(await app.readTree(name)).toEqual(SMALL);
});

test('shallow and partial clones and both protocols work, and go on to push', async () => {
  const { name } = await app.start();
  for (let i = 0; i < 3; i += 1)
    await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/n.md', content: `${i}\n` });
  for (const version of ['0', '1', '2']) {
    const folder = join(app.home, `v${version}-${name}`);
    await git(app.home, '-c', `protocol.version=${version}`, 'clone', '-q', '--depth=1', app.url(name), folder);
    expect(await git(folder, 'rev-list', '--count', 'HEAD')).toBe('1');
    put(folder, 'knowledge/from.md', `${version}\n`);
    await commitAll(folder);
    expect(await runGit(folder, '-c', `protocol.version=${version}`, 'push', 'origin', 'main')).toMatchObject({
      code: 0,
    });
  }
  const partial = join(app.home, `partial-${name}`);
  await git(app.home, 'clone', '-q', '--filter=blob:none', '--no-checkout', app.url(name), partial);
  await git(partial, 'checkout', '-q', 'main');
  expect(readFolder(partial)).toEqual(await app.readTree(name));
  expect(await git(partial, 'fetch', '--unshallow', 'origin').catch(() => 'whole already')).toBe('whole already');
});

test('who may: 401 asks for Basic, a role that is too low is told, and what is not there is 404 for everybody', async () => {
  const { name } = await app.start();
  const at = (path: string, init: Parameters<RemoteApp['request']>[1] = {}) =>
    app.get(`/git/${app.tenant}/${path}`, init);
  const none = await at(`${name}.git/info/refs?service=git-upload-pack`, { as: null });
  expect([none.status, none.headers.get('www-authenticate')]).toEqual([
    401,
    'Basic realm="Signalbox", charset="UTF-8"',
  ]);
  // Neither a bearer key nor a cookie is a credential here.
  expect((await at(`${name}.git/info/refs?service=git-upload-pack`)).status).toBe(401);
  expect(
    (await at(`${name}.git/info/refs?service=git-upload-pack`, { as: null, headers: { cookie: 'service_session=x' } }))
      .status,
  ).toBe(401);
  const basic = (key: string) => ({
    as: null,
    headers: { authorization: `Basic ${Buffer.from(`any:${key}`).toString('base64')}` },
  });
  const own = basic(app.key);
  for (const path of [
    `${name}.git/HEAD`,
    `${name}.git/objects/info/packs`,
    `other.git/info/refs?service=git-upload-pack`,
    `${name}.git/info/refs`,
    `${name}.git/config`,
  ])
    expect([path, (await at(path, own)).status]).toEqual([path, 404]);
  const found = await at(`${name}.git/info/refs?service=git-upload-pack`, own);
  expect([found.status, found.headers.get('cache-control')]).toEqual([200, 'no-cache, max-age=0, must-revalidate']);

  const viewer = await createKey(app.deps, { tenant: app.tenant, owner: app.owner, role: 'viewer' });
  const clone = await app.clone(name, viewer);
  put(clone, 'knowledge/x.md', 'x\n');
  await commitAll(clone);
  expect((await runGit(clone, 'push', 'origin', 'main')).err).toMatch(/needs role editor[\s\S]*403/);
  const scoped = await createKey(app.deps, {
    tenant: app.tenant,
    owner: app.owner,
    role: 'admin',
    workspaces: ['elsewhere'],
  });
  expect((await at(`${name}.git/info/refs?service=git-upload-pack`, basic(scoped))).status).toBe(404);
  const stranger = await createRemoteApp();
  const foreign = await at(`${name}.git/info/refs?service=git-upload-pack`, basic(stranger.key));
  expect([foreign.status, await foreign.text()]).toEqual([404, 'no such repository\n']);
  expect(
    (
      await at(
        `${name}.git/info/refs?service=git-upload-pack`,
        basic(`${app.key.slice(0, -1)}${app.key.endsWith('x') ? 'y' : 'x'}`),
      )
    ).status,
  ).toBe(401);
});

test('a deploy key opens its one workspace, to read or to write, and nothing else', async () => {
  const { name } = await app.start();
  const other = await app.start();
  const mint = async (access: string) =>
    (await bodyOf(app.post('/api/keys', { label: access, workspace: name, access }))).key as string;
  const [read, write] = [await mint('read'), await mint('write')];
  const clone = await app.clone(name, read);
  put(clone, 'knowledge/x.md', 'x\n');
  await commitAll(clone);
  expect((await runGit(clone, 'push', 'origin', 'main')).err).toMatch(/deploy key with access write/);
  expect(await runGit(clone, 'push', app.url(name, write), 'main')).toMatchObject({ code: 0 });
  for (const key of [read, write])
    expect((await runGit(app.home, 'ls-remote', app.url(other.name, key))).err).toMatch(/not found/);
  expect((await app.get('/api/workspaces', { as: write })).status).toBe(403);
});

test('a branch has its preview, which goes with it; one whose tree fails is refused; tags stay as they are', async () => {
  const { name, clone } = await app.start();
  await git(clone, 'checkout', '-q', '-b', 'feature/x');
  put(clone, 'knowledge/new.md', 'new\n');
  await commitAll(clone);
  const made = await runGit(clone, 'push', 'origin', 'feature/x');
  expect(made.code).toBe(0);
  const [, preview = ''] = /remote: The preview (\S+) was made/.exec(made.err) ?? [];
  expect(await app.readTree(preview)).toEqual({ ...SMALL, 'knowledge/new.md': 'new\n' });
  expect(await app.readTree(name)).toEqual(SMALL);
  await git(clone, 'commit', '-q', '--amend', '-m', 'Anew');
  expect((await runGit(clone, 'push', '--force', 'origin', 'feature/x')).err).toMatch(/forced update/);
  put(clone, 'flows/bad.md', '# no frontmatter\n');
  await commitAll(clone);
  expect((await runGit(clone, 'push', 'origin', 'feature/x')).err).toMatch(/remote: flows\/bad\.md:1:1 /);
  await git(clone, 'tag', '-a', 'v1', '-m', 'One', 'HEAD~1');
  expect((await runGit(clone, 'push', 'origin', 'v1')).code).toBe(0);
  expect(await git(await app.clone(name), 'tag', '-n')).toMatch(/^v1\s+One$/);
  expect((await runGit(clone, 'push', app.url(preview), 'feature/x:main')).err).toMatch(/this is a preview/);
  const gone = await runGit(clone, 'push', 'origin', ':feature/x', ':v1');
  expect([gone.code, gone.err]).toEqual([0, expect.stringContaining(`The preview ${preview} was deleted.`)]);
  expect((await app.get(`/api/workspaces/${preview}`)).status).toBe(404);
  expect(await git(clone, 'ls-remote', 'origin')).not.toMatch(/feature|v1/);
});

test('what agents wrote stays, but for what the push itself changes', async () => {
  const { name, id, clone } = await app.start({
    ...SMALL,
    'memory/writer/a.md': 'first\n',
    'memory/writer/b.md': 'first\n',
  });
  for (const path of ['memory/writer/a.md', 'memory/writer/b.md'])
    await agentWrites(app, { id, path, content: 'by the agent\n', seen: 'first\n' });
  put(clone, 'memory/writer/a.md', 'by hand\n');
  await commitAll(clone);
  expect((await runGit(clone, 'push', 'origin', 'main')).code).toBe(0);
  expect(await app.readTree(name)).toMatchObject({
    'memory/writer/a.md': 'by hand\n',
    'memory/writer/b.md': 'by the agent\n',
  });
});

test('security 15: five who push at once, with a deploy and edits between, make one line of history that a clone equals', async () => {
  const { name, id } = await app.start();
  const clones = await Promise.all(Array.from({ length: 5 }, () => app.clone(name)));
  const push = async (clone: string, index: number): Promise<void> => {
    put(clone, `knowledge/by-${index}.md`, `${index}\n`);
    await commitAll(clone, `By ${index}`);
    for (;;) {
      const { code, err } = await runGit(clone, 'push', 'origin', 'main');
      if (code === 0) return;
      expect(err).toMatch(/fetch first|non-fast-forward|stale/);
      await git(clone, 'pull', '-q', '--rebase', 'origin', 'main');
    }
  };
  const edits = async (): Promise<void> => {
    for (let i = 0; i < 5; i += 1)
      expect(
        (await app.put(`/api/workspaces/${name}/source`, { path: `knowledge/edit-${i}.md`, content: 'x\n' })).status,
      ).toBe(200);
  };
  await Promise.all([...clones.map(push), edits()]);
  const live = await app.readTree(name);
  await app.deploy(name, { ...live, 'knowledge/deployed.md': 'd\n' });
  const repository = repositoryFolder(app.deps.config.dataDir, id);
  const clone = await app.clone(name);
  expect(readFolder(clone)).toEqual({ ...live, 'knowledge/deployed.md': 'd\n' });
  expect(Object.keys(live)).toHaveLength(Object.keys(SMALL).length + 10);
  expect(await git(clone, 'rev-list', '--min-parents=2', '--count', 'main')).toBe('0');
  const revisions = await app.deps.db.query<{ commit: string }>(
    'SELECT git_commit AS commit FROM revision WHERE workspace_id = $1 ORDER BY seq DESC',
    [id],
  );
  expect((await git(clone, 'rev-list', 'main')).split('\n')).toEqual(revisions.map(({ commit }) => commit));
  expect(await git(repository, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
});
