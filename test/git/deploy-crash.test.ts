import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { alignMain } from '../../src/content/index.js';
import { MAIN, openRepository, readRef, repositoryFolder } from '../../src/git/index.js';
import { type GitProcess, stageGitProcesses } from '../support/git-processes.js';
import { loseFolder } from '../support/lose-folder.js';
import { bodyOf, createWorkspaceApp, SMALL, type Tree, type WorkspaceApp } from '../support/workspace-app.js';

const start = stageGitProcesses();
const home = mkdtempSync(join(tmpdir(), 'deploy-crash-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const OLD: Tree = { ...SMALL, 'knowledge/a.md': 'old a\n', 'knowledge/z.md': 'old z\n' };
const NEW: Tree = { ...SMALL, 'knowledge/a.md': 'new a\n', 'knowledge/deep/er/b.md': 'new b\n' };

interface Crash {
  readonly app: WorkspaceApp;
  readonly name: string;
  readonly id: string;
  readonly ended: Awaited<GitProcess['ended']>;
}

/** Deploys NEW over OLD in another process, which dies at the failpoint or after so many ms of work. */
async function crash(failpoint: string | null, killAfterMs: number | null): Promise<Crash> {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace(OLD);
  const { child, ended } = await deployElsewhere(app, name, failpoint);
  if (killAfterMs !== null) setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  return { app, name, id, ended: await ended };
}

function deployElsewhere(app: WorkspaceApp, workspace: string, failpoint: string | null): Promise<GitProcess> {
  const work = { kind: 'deploy', tenant: app.tenant, workspace, files: NEW } as const;
  return start({ dataDir: app.deps.config.dataDir, work, failpoint });
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' });
}

function readFolder(folder: string): Tree {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    if (entry.isFile() && !path.startsWith('.git/')) found[path] = readFileSync(join(folder, path), 'utf8');
  }
  return found;
}

/** What must hold after any crash: all tables tell of one tree, git passes its check, and a clone is what is live. */
async function audit({ app, name, id }: Crash): Promise<'old' | 'new'> {
  const live = await app.readTree(name);
  const revisions = await app.deps.db.query<{ seq: number; commit: string }>(
    `SELECT r.seq, r.git_commit AS commit FROM revision r JOIN change c ON c.workspace_id = r.workspace_id AND c.id = r.id
     JOIN workspace w ON w.id = r.workspace_id AND w.live_seq >= r.seq WHERE r.workspace_id = $1 ORDER BY r.seq DESC`,
    [id],
  );
  const all = await app.deps.db.query('SELECT seq FROM revision WHERE workspace_id = $1', [id]);
  expect(all).toHaveLength(revisions.length);
  await alignMain(app.deps, id);
  const repository = repositoryFolder(app.deps.config.dataDir, id);
  expect(git('-C', repository, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
  expect(git('-C', repository, 'rev-list', 'main').trim().split('\n')).toEqual(revisions.map(({ commit }) => commit));
  const clone = join(home, id);
  git('clone', '-q', repository, clone);
  expect(readFolder(clone)).toEqual(live);
  expect([OLD, NEW]).toContainEqual(live);
  return revisions.length === 1 ? 'old' : 'new';
}

test.each([
  ['objects-written', 'old'],
  ['revision-written', 'old'],
  ['pointer-swapped', 'new'],
] as const)(
  'security 15: a crash at %s leaves the %s tree, whole, and the next deploy goes on from it',
  async (at, left) => {
    const crashed = await crash(at, null);
    const { app, name } = crashed;
    expect(crashed.ended).toBe('SIGKILL');
    expect(await audit(crashed)).toBe(left);
    expect(await app.readTree(name)).toEqual(left === 'old' ? OLD : NEW);
    const next = await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': 'after the crash' }));
    expect(next).toMatchObject({ ok: true, applied: true });
  },
);

test('a touch that comes after the delete makes no repository again', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace(OLD);
  expect((await app.delete(`/api/workspaces/${name}`)).status).toBe(200);
  await alignMain(app.deps, id);
  expect(existsSync(repositoryFolder(app.deps.config.dataDir, id))).toBe(false);
});

test('a ref that a crash left behind is moved at the next touch, and a deploy is one', async () => {
  const first = await crash('pointer-swapped', null);
  const repository = await openRepository(first.app.deps.config.dataDir, first.id);
  const live = await bodyOf(first.app.get(`/api/workspaces/${first.name}`));
  expect(await readRef(repository, MAIN)).not.toBe(live.revision);
  await alignMain(first.app.deps, first.id);
  expect(await readRef(repository, MAIN)).toBe(live.revision);

  const second = await crash('pointer-swapped', null);
  const next = await bodyOf(second.app.deploy(second.name, { ...SMALL, 'AGENTS.md': 'x' }));
  expect(await readRef(await openRepository(second.app.deps.config.dataDir, second.id), MAIN)).toBe(next.gitCommit);
});

test.each([5, 30, 90])('security 15: killed %i ms into a deploy, the workspace is old or new', async (ms) => {
  const crashed = await crash(null, ms);
  const left = await audit(crashed);
  expect(await crashed.app.readTree(crashed.name)).toEqual(left === 'old' ? OLD : NEW);
});

test('security 15: deploys of two processes at once grow one from the other, and edits between them are kept whole', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace(OLD);
  const { ended } = await deployElsewhere(app, name, null);
  let elsewhere = true;
  void ended.then(() => {
    elsewhere = false;
  });
  let edits = 0;
  while (elsewhere) {
    const path = `knowledge/edit-${edits}.md`;
    expect((await app.put(`/api/workspaces/${name}/source`, { path, content: 'x' })).status).toBe(200);
    edits += 1;
  }
  expect(await ended).toBe(0);
  const live = await app.readTree(name);
  expect(live).toMatchObject(NEW);
  expect(live).not.toHaveProperty(['knowledge/z.md']);
  const repository = repositoryFolder(app.deps.config.dataDir, id);
  const commits = git('-C', repository, 'rev-list', 'main').trim().split('\n');
  expect(commits).toHaveLength(edits + 2);
  const clone = join(home, id);
  git('clone', '-q', repository, clone);
  expect(readFolder(clone)).toEqual(live);
});

test('a repository that was lost is written again from Postgres, commit for commit', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace(OLD);
  for (const files of [NEW, OLD, { ...NEW, 'AGENTS.md': '# Third\n' }])
    await app.deploy(name, files, { message: 'Next\n\nwith words' });
  const folder = repositoryFolder(app.deps.config.dataDir, id);
  const log = git('-C', folder, 'log', '--format=%H %T %an %aI %B', 'main');
  loseFolder(folder);
  await alignMain(app.deps, id);
  expect(git('-C', folder, 'log', '--format=%H %T %an %aI %B', 'main')).toBe(log);
  expect(git('-C', folder, 'fsck', '--full', '--strict')).toBe('');

  loseFolder(folder);
  const { gitCommit } = await bodyOf(app.deploy(name, OLD));
  expect(git('-C', folder, 'rev-list', '--count', 'main').trim()).toBe('5');
  expect(git('-C', folder, 'rev-parse', 'main').trim()).toBe(gitCommit);
});

test('a clone by the real git is the live tree, after edits, moves and removals', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace(OLD);
  const url = `/api/workspaces/${name}/source`;
  await app.put(url, { path: 'knowledge/new.md', content: 'new\r\n' });
  await app.patch(url, { from: 'knowledge/a.md', to: 'knowledge/sub/a.md' });
  await app.delete(`${url}?path=knowledge/z.md`);
  const clone = join(home, 'edited');
  git('clone', '-q', repositoryFolder(app.deps.config.dataDir, id), clone);
  expect(readFolder(clone)).toEqual(await app.readTree(name));
  expect(git('-C', clone, 'log', '--format=%s').trim().split('\n')).toEqual([
    'Remove knowledge/z.md',
    'Move knowledge/a.md to knowledge/sub/a.md',
    'Edit knowledge/new.md',
    `Create ${name}`,
  ]);
});
