import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  alignRefs,
  applyTree,
  deleteRef,
  dropPack,
  linkPack,
  listStoredRefs,
  prepareTree,
  readInReach,
  recordLoadedPack,
  type StoredPack,
  setRef,
  storePack,
  sweepPacks,
} from '../../src/content/index.js';
import {
  adoptPack,
  isAncestor,
  listTree,
  makePack,
  openQuarantine,
  openRepository,
  readCommit,
  removeRepository,
  repositoryFolder,
  runGit,
  sweepQuarantine,
} from '../../src/git/index.js';
import type { Caller } from '../../src/shared/roles.js';
import { loseFolder } from '../support/lose-folder.js';
import { createWorkspaceApp, SMALL, type Tree, type WorkspaceApp } from '../support/workspace-app.js';

const home = mkdtempSync(join(tmpdir(), 'git-packs-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const by = { kind: 'person', id: 'm1', label: 'ada@example.com' } as const;

function git(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  return execFileSync('git', ['-C', folder, ...who, ...args], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  }).trim();
}

interface Ground {
  readonly app: WorkspaceApp;
  readonly name: string;
  readonly id: string;
  readonly folder: string;
}

async function ground(files: Tree = SMALL): Promise<Ground> {
  const app = await createWorkspaceApp();
  const workspace = await app.workspace(files);
  return { app, ...workspace, folder: repositoryFolder(app.deps.config.dataDir, workspace.id) };
}

/** A commit on top of what is live, made by the real git in the service's own repository, and its pack. */
async function commitBeside(
  { app, id, folder }: Ground,
  change: (clone: string) => void,
): Promise<{ commit: string; pack: StoredPack }> {
  await alignRefs(app.deps, id);
  const clone = mkdtempSync(join(home, 'clone-'));
  execFileSync('git', ['clone', '-q', folder, clone]);
  change(clone);
  git(clone, 'add', '-A');
  git(clone, 'commit', '-q', '-m', 'By hand');
  const commit = git(clone, 'rev-parse', 'HEAD');
  const repository = { gitdir: join(clone, '.git') };
  const quarantine = await openQuarantine(repository);
  const kept = await makePack(repository, quarantine, {
    wants: [commit],
    haves: [git(clone, 'rev-parse', 'origin/main')],
  });
  const pack = await storePack(app.deps, id, kept);
  const target = await openRepository(app.deps.config.dataDir, id);
  await adoptPack(target, kept);
  return { commit, pack };
}

async function goLive({ app, name }: Ground, { commit, pack }: { commit: string; pack: StoredPack }): Promise<void> {
  const caller: Caller = {
    tenant: app.tenant,
    role: 'admin',
    workspaces: null,
    actor: by,
    person: null,
    signedIn: false,
    address: null,
  };
  await applyTree(app.deps, caller, {
    workspace: name,
    async propose(sql, workspaceId) {
      const repository = await openRepository(app.deps.config.dataDir, workspaceId);
      const { files } = await listTree(repository, commit, { maxFiles: 100, maxBytes: 10_000 });
      const sources = files.map(({ path, sha }) => ({
        path,
        content: execFileSync('git', ['-C', repository.gitdir, 'cat-file', 'blob', sha]),
      }));
      const prepared = await prepareTree(app.deps, sources, await readInReach(sql, app.tenant, workspaceId));
      const executable = new Set(files.filter((file) => file.executable).map(({ path }) => path));
      const tree = (await readCommit(repository, commit))?.tree ?? '';
      return { prepared, mentions: new Set(), commit: { id: commit, tree, executable } };
    },
    ...{ id: null, via: 'push', message: () => 'By hand', base: null, overLiveRuns: false, dryRun: false },
    inTransaction: async (sql) => {
      const [row] = await sql.query<{ id: string }>('SELECT id FROM workspace WHERE name = $1', [name]);
      await linkPack(sql, row?.id ?? '', pack.id);
    },
  });
}

const logOf = (folder: string) => git(folder, 'log', '--format=%H %T %an %aI %B', '--all');

test('a repository that was lost comes back from packs and rows, commit for commit, programs marked as they were', async () => {
  const at = await ground();
  const { app, name, id, folder } = at;
  await app.deploy(name, { ...SMALL, 'knowledge/a.md': 'one\n' });
  await goLive(
    at,
    await commitBeside(at, (clone) => {
      writeFileSync(join(clone, 'tools.sh'), 'echo hi\n', { mode: 0o755 });
    }),
  );
  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/b.md', content: 'after\n' });
  expect(git(folder, 'ls-tree', 'main', 'tools.sh')).toMatch(/^100755 /);
  await goLive(at, await commitBeside(at, (clone) => writeFileSync(join(clone, 'knowledge/c.md'), 'third\n')));
  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/b.md', content: 'last\n' });
  const log = logOf(folder);
  expect(log.match(/By hand/g)).toHaveLength(2);

  loseFolder(folder);
  await alignRefs(app.deps, id);
  expect(logOf(folder)).toBe(log);
  expect(git(folder, 'fsck', '--full', '--strict')).toBe('');
  expect(await app.readTree(name)).toMatchObject({
    'knowledge/b.md': 'last\n',
    'knowledge/c.md': 'third\n',
    'tools.sh': 'echo hi\n',
  });
});

test('a filling that was cut goes on where it was, and then all is there', async () => {
  const at = await ground();
  const { app, name, id, folder } = at;
  await goLive(at, await commitBeside(at, (clone) => writeFileSync(join(clone, 'knowledge.md'), 'x\n')));
  await app.put(`/api/workspaces/${name}/source`, { path: 'AGENTS.md', content: '# Last\n' });
  const log = logOf(folder);
  loseFolder(folder);
  // What a process leaves that dies after the packs and before the rows: commits without what is before them.
  const repository = await openRepository(app.deps.config.dataDir, id);
  writeFileSync(join(folder, 'filling'), '0');
  const [pack] = await app.deps.db.query<{ sha: string }>('SELECT sha FROM git_pack WHERE workspace_id = $1', [id]);
  const bytes = await app.deps.blobs.get(pack?.sha ?? '');
  execFileSync('git', ['-C', repository.gitdir, 'index-pack', '--stdin'], {
    input: bytes ?? '',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await alignRefs(app.deps, id);
  expect(logOf(folder)).toBe(log);
  expect(git(folder, 'fsck', '--full', '--strict')).toBe('');
});

test('refs on the disk are what the rows say, whatever stood there', async () => {
  const at = await ground();
  const { app, id, folder } = at;
  const { commit, pack } = await commitBeside(at, (clone) => writeFileSync(join(clone, 'x.md'), 'x\n'));
  const change = { workspaceId: id, by };
  await app.deps.db.transaction(async (sql) => {
    await linkPack(sql, id, pack.id);
    expect(await setRef(sql, { ...change, name: 'refs/heads/a', oid: commit, expect: null })).toBe(true);
    expect(await setRef(sql, { ...change, name: 'refs/heads/a', oid: commit, expect: null })).toBe(false);
  });
  git(folder, 'update-ref', 'refs/heads/stray', 'main');
  await alignRefs(app.deps, id);
  const refs = () => git(folder, 'for-each-ref', '--format=%(refname)').split('\n');
  expect(refs()).toEqual(['refs/heads/a', 'refs/heads/main']);
  expect(await listStoredRefs(app.deps.db, id)).toMatchObject([{ name: 'refs/heads/a', oid: commit }]);
  const main = git(folder, 'rev-parse', 'main');
  const repository = { gitdir: folder };
  expect([await isAncestor(repository, main, commit), await isAncestor(repository, commit, main)]).toEqual([
    true,
    false,
  ]);
  // A name that stood in the way of another one goes first.
  expect(await deleteRef(app.deps.db, { workspaceId: id, name: 'refs/heads/a', expect: 'f'.repeat(40) })).toBe(false);
  expect(await deleteRef(app.deps.db, { workspaceId: id, name: 'refs/heads/a', expect: commit })).toBe(true);
  await setRef(app.deps.db, { ...change, name: 'refs/heads/a/b', oid: commit });
  await Promise.all(Array.from({ length: 4 }, () => alignRefs(app.deps, id)));
  expect(refs()).toEqual(['refs/heads/a/b', 'refs/heads/main']);
  loseFolder(folder);
  await alignRefs(app.deps, id);
  expect(git(folder, 'rev-parse', 'a/b')).toBe(commit);
});

test('a pack that no transaction took is swept with its bytes, one that is used stays, and a delete frees both', async () => {
  const at = await ground();
  const { app, id, name } = at;
  const used = await commitBeside(at, (clone) => writeFileSync(join(clone, 'x.md'), 'x\n'));
  const left = await commitBeside(at, (clone) => writeFileSync(join(clone, 'x.md'), 'y\n'));
  await goLive(at, used);
  await sweepPacks(app.deps);
  expect(await app.deps.blobs.has(left.pack.sha)).toBe(true);
  await app.deps.db.query(`UPDATE git_pack SET created_at = now() - interval '1 day' WHERE workspace_id = $1`, [id]);
  await sweepPacks(app.deps, AbortSignal.abort());
  expect(await app.deps.blobs.has(left.pack.sha)).toBe(true);
  await sweepPacks(app.deps);
  await dropPack(app.deps, used.pack);
  expect(await Promise.all([left, used].map(({ pack }) => app.deps.blobs.has(pack.sha)))).toEqual([false, true]);

  await setRef(app.deps.db, { workspaceId: id, name: 'refs/heads/a', oid: used.commit, by });
  expect((await app.delete(`/api/workspaces/${name}`)).status).toBe(200);
  expect(await app.deps.blobs.has(used.pack.sha)).toBe(false);
  const rows = await app.deps.db.query(
    'SELECT 1 FROM git_pack WHERE workspace_id = $1 UNION ALL SELECT 1 FROM git_ref WHERE workspace_id = $1',
    [id],
  );
  expect(rows).toEqual([]);
  expect(await alignRefs(app.deps, id)).toBeNull();
});

test('a pack is fetched when its repository was lost before it could be noted as loaded', async () => {
  const at = await ground();
  const { app, id, folder } = at;
  const pushed = await commitBeside(at, (clone) => writeFileSync(join(clone, 'x.md'), 'x\n'));
  await app.deps.db.transaction(async (sql) => {
    await linkPack(sql, id, pushed.pack.id);
    await setRef(sql, { workspaceId: id, name: 'refs/heads/pushed', oid: pushed.commit, by });
  });
  await removeRepository(app.deps.config.dataDir, id);
  const repository = await openRepository(app.deps.config.dataDir, id);
  await recordLoadedPack(app.deps.db, repository, pushed.pack.id);
  await alignRefs(app.deps, id);
  expect(git(folder, 'rev-parse', 'refs/heads/pushed')).toBe(pushed.commit);
});

test('a pack that is on the disk already is not fetched again, and one that came from elsewhere is', async () => {
  const at = await ground();
  const { app, id, folder } = at;
  const repository = { gitdir: folder };
  const here = await commitBeside(at, (clone) => writeFileSync(join(clone, 'x.md'), 'x\n'));
  await app.deps.db.transaction((sql) => linkPack(sql, id, here.pack.id));
  await recordLoadedPack(app.deps.db, repository, here.pack.id);
  // What is fetched again would be seen: its bytes are gone.
  const bytes = await app.deps.blobs.get(here.pack.sha);
  await app.deps.blobs.delete(here.pack.sha);
  const there = await commitBeside(at, (clone) => writeFileSync(join(clone, 'x.md'), 'y\n'));
  await app.deps.db.transaction(async (sql) => {
    await linkPack(sql, id, there.pack.id);
    await setRef(sql, { workspaceId: id, name: 'refs/heads/there', oid: there.commit, by });
  });
  const [index = ''] = readdirSync(join(folder, 'objects/pack'))
    .filter((name) => name.endsWith('.idx'))
    .filter((name) =>
      execFileSync('git', ['show-index'], { input: readFileSync(join(folder, 'objects/pack', name)) }).includes(
        there.commit,
      ),
    );
  for (const ending of ['.idx', '.pack']) rmSync(join(folder, 'objects/pack', index.replace('.idx', ending)));
  await alignRefs(app.deps, id);
  expect((await runGit(repository, ['rev-parse', 'there'])).stdout.toString().trim()).toBe(there.commit);
  await app.deps.blobs.put(bytes ?? new Uint8Array());
});

test('a quarantine that its process left is swept once it is old, and one in use is not', async () => {
  const { app, id } = await ground();
  const repository = await openRepository(app.deps.config.dataDir, id);
  await openQuarantine(repository);
  expect(await sweepQuarantine(repository)).toBe(0);
  // A file's time has parts of milliseconds, the clock has none: later is what is surely later.
  expect(await sweepQuarantine(repository, new Date(Date.now() + 1_000))).toBe(1);
});
