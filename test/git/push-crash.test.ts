import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { libraryId } from '../../src/content/index.js';
import { repositoryFolder } from '../../src/git/index.js';
import { applyPendingPush } from '../../src/remotes/index.js';
import { sweepGit } from '../../src/remotes/sweep.js';
import type { Failpoint } from '../../src/shared/failpoint.js';
import { stageGitProcesses } from '../support/git-processes.js';
import { commitAll, createRemoteApp, git, type RemoteApp, readFolder, runGit } from '../support/git-remote.js';
import { bodyOf, insertRun, SMALL, type Tree } from '../support/workspace-app.js';

const start = stageGitProcesses();
let app: RemoteApp;
beforeAll(async () => {
  app = await createRemoteApp();
});

interface Stage {
  readonly name: string;
  readonly id: string;
  readonly clone: string;
  readonly commit: string;
}

function write(folder: string, path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

async function stage(): Promise<Stage> {
  const at = await app.start();
  write(at.clone, 'knowledge/new.md', 'new\n');
  return { ...at, commit: await commitAll(at.clone) };
}

interface Kill {
  readonly at?: Failpoint;
  readonly afterMs?: number;
  readonly ref?: string;
}

/** Pushes to another process, which dies at the failpoint or after so many ms. */
async function crash(
  { name, clone }: Pick<Stage, 'name' | 'clone'>,
  { at, afterMs, ref = 'main' }: Kill,
): Promise<void> {
  const { dataDir } = app.deps.config;
  const { said, child, ended } = await start({ dataDir, failpoint: at ?? null, work: { kind: 'serve' } });
  const url = app.url(name).replace(app.base.replace('http://', ''), said.replace('http://', ''));
  const pushed = runGit(clone, 'push', url, ref);
  if (afterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), afterMs);
  expect(await ended).toBe('SIGKILL');
  await pushed;
}

/** Old or new and nothing between, and the next push works. */
async function audit({ name, clone, commit }: Stage): Promise<'old' | 'new'> {
  const { revision } = await bodyOf(app.get(`/api/workspaces/${name}`));
  const state = revision === commit ? 'new' : 'old';
  expect(readFolder(await app.clone(name))).toEqual(
    state === 'new' ? { ...SMALL, 'knowledge/new.md': 'new\n' } : SMALL,
  );
  write(clone, 'knowledge/next.md', 'next\n');
  await commitAll(clone, 'Next');
  expect(await runGit(clone, 'push', 'origin', 'main')).toMatchObject({ code: 0 });
  expect(readFolder(await app.clone(name))).toEqual(readFolder(clone));
  return state;
}

test.each([
  ['push-received', 'old'],
  ['pack-stored', 'old'],
  ['revision-written', 'old'],
  ['pointer-swapped', 'new'],
] as const)(
  'security 15: a push that is killed at %s leaves the %s tree, and the next push works',
  async (at, left) => {
    const pushed = await stage();
    await crash(pushed, { at });
    expect(await audit(pushed)).toBe(left);
  },
);

test.each([60, 250])('security 15: killed %i ms into a push, the workspace is old or new', async (afterMs) => {
  const pushed = await stage();
  await crash(pushed, { afterMs });
  expect(['old', 'new']).toContain(await audit(pushed));
});

/** The preview of the branch `try` and the branch itself, as they are told: one says what the other does. */
async function readBranch({ name, clone }: Stage): Promise<{ readonly commit: string; readonly files: Tree } | null> {
  const [commit = ''] = (await git(clone, 'ls-remote', 'origin', 'refs/heads/try')).split('\t');
  const preview = `${name}-preview-try`;
  const shown = await app.get(`/api/workspaces/${preview}`);
  expect(shown.status).toBe(commit === '' ? 404 : 200);
  if (commit === '') return null;
  expect(await bodyOf(shown)).toMatchObject({ revision: commit, preview: { of: name, branch: 'try' } });
  const files = await app.readTree(preview);
  expect(readFolder(await app.clone(preview))).toEqual(files);
  return { commit, files };
}

/** What the push does to the preview, where it is killed, and what is left. */
const OF_BRANCH = [
  ['made', 'pack-stored', 'old'],
  ['made', 'revision-written', 'old'],
  ['made', 'pointer-swapped', 'new'],
  ['updated', 'revision-written', 'old'],
  ['updated', 'pointer-swapped', 'new'],
  ['deleted', 'push-received', 'old'],
  ['deleted', 'rows-erased', 'new'],
] as const;

test.each(OF_BRANCH)(
  'security 15: a preview that is %s by a push which is killed at %s is the %s one, and the next push works',
  async (what, at, left) => {
    const made = await app.start();
    const { clone } = made;
    const none = { ...made, commit: '' };
    if (what !== 'made') {
      write(clone, 'knowledge/first.md', 'first\n');
      await commitAll(clone, 'First');
      await git(clone, 'push', '-q', 'origin', 'main:try');
    }
    const before = await readBranch(none);
    write(clone, 'knowledge/new.md', 'new\n');
    const commit = await commitAll(clone);
    await crash(made, { at, ref: what === 'deleted' ? ':try' : 'main:try' });
    const after = what === 'deleted' ? null : { commit, files: readFolder(clone) };
    expect(await readBranch(none)).toEqual(left === 'old' ? before : after);
    expect(await app.readTree(made.name)).toEqual(SMALL);

    if (what === 'deleted') {
      expect((await runGit(clone, 'push', 'origin', ':try')).code).toBe(left === 'old' ? 0 : 1);
      expect(await readBranch(none)).toBeNull();
    }
    write(clone, 'knowledge/next.md', 'next\n');
    const next = await commitAll(clone, 'Next');
    expect(await runGit(clone, 'push', 'origin', 'main:try')).toMatchObject({ code: 0 });
    expect(await readBranch(none)).toEqual({ commit: next, files: readFolder(clone) });
  },
);

test.each([
  ['pack-stored', 'old'],
  ['objects-written', 'old'],
  ['pointer-swapped', 'new'],
] as const)(
  'security 15: a push to the library that is killed at %s leaves the %s library, and the next push works',
  async (at, left) => {
    const clone = await app.clone('_library');
    const before = readFolder(clone);
    write(clone, 'knowledge/shared.md', `${at}\n`);
    const commit = await commitAll(clone);
    await crash({ name: '_library', clone }, { at });
    const fresh = await app.clone('_library');
    expect(readFolder(fresh)).toEqual(left === 'new' ? readFolder(clone) : before);
    const shown = await bodyOf(app.get('/api/library/knowledge?path=knowledge/shared.md'));
    expect(shown.content).toBe((left === 'new' ? readFolder(clone) : before)['knowledge/shared.md']);
    const { changes } = await bodyOf(app.get('/api/library/history'));
    expect(changes.some(({ gitCommit }: { gitCommit: string }) => gitCommit === commit)).toBe(left === 'new');
    write(clone, 'knowledge/next.md', `after ${at}\n`);
    await commitAll(clone, 'Next');
    expect(await runGit(clone, 'push', 'origin', 'main')).toMatchObject({ code: 0 });
    expect(readFolder(await app.clone('_library'))).toEqual(readFolder(clone));
    expect(existsSync(repositoryFolder(app.deps.config.dataDir, libraryId(app.tenant)))).toBe(true);
  },
);

test('security 15: a push that waits outlives whoever took it, and whoever dies while it is applied', async () => {
  const pushed = await stage();
  const { name, id, clone, commit } = pushed;
  const run = await insertRun(app, id);
  await crash(pushed, { at: 'push-parked' });
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ pending: { revision: commit } });
  expect(readFolder(await app.clone(name))).toEqual(SMALL);
  const words = () => app.deps.db.query(`SELECT 1 FROM outbox WHERE run_id = $1 AND kind = 'apply-push'`, [id]);
  expect(await words()).toHaveLength(1);
  // A Temporal that lost it is told again.
  await app.deps.db.query('DELETE FROM outbox WHERE run_id = $1', [id]);
  await app.deps.db.query(`UPDATE pending_push SET at = now() - interval '1 hour' WHERE workspace_id = $1`, [id]);
  await sweepGit(app.deps);
  await sweepGit(app.deps);
  expect(await words()).toHaveLength(1);
  expect(await applyPendingPush(app.deps, id)).toBe('waiting');
  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/edit.md', content: 'edit\n' });
  await app.deps.db.query(`UPDATE run SET finished_at = now(), status = 'completed' WHERE id = $1`, [run]);
  expect(await words()).toHaveLength(2);

  const { dataDir } = app.deps.config;
  const { ended } = await start({ dataDir, failpoint: 'push-merged', work: { kind: 'apply', workspaceId: id } });
  expect(await ended).toBe('SIGKILL');
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ pending: { revision: commit } });
  expect(await applyPendingPush(app.deps, id)).toBe('done');
  expect(await app.readTree(name)).toEqual({ ...SMALL, 'knowledge/new.md': 'new\n', 'knowledge/edit.md': 'edit\n' });
  await git(clone, 'pull', '-q', '--rebase', 'origin', 'main');
  expect(readFolder(clone)).toEqual(await app.readTree(name));
  // The words to Temporal are nobody's here.
  await app.deps.db.query('DELETE FROM outbox WHERE run_id = $1', [id]);
});

/** Every table that hangs on a workspace, and none of its rows may outlive it. */
const OF_WORKSPACE = ['revision', 'change', 'blob', 'plan', 'git_ref', 'git_pack', 'secret', 'pending_push'];

test('security 15: after all these kills each repository is whole, and no quarantine, pack, row or folder of the dead is left', async () => {
  await app.deps.db.query(`UPDATE git_pack SET created_at = now() - interval '1 day' WHERE seq IS NULL`);
  await sweepGit(app.deps, { madeBefore: new Date(Date.now() + 1_000) });
  const folders = readdirSync(join(app.deps.config.dataDir, 'git'));
  const known = await app.deps.db.query<{ id: string }>(
    `SELECT id FROM workspace UNION ALL SELECT 'library.' || tenant_id FROM library`,
  );
  const names = new Set(known.map(({ id }) => `${id}.git`));
  expect(folders.filter((name) => !names.has(name))).toEqual([]);
  for (const folder of folders) {
    const gitdir = join(app.deps.config.dataDir, 'git', folder);
    expect(await git(gitdir, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
    const quarantine = join(gitdir, 'quarantine');
    expect(existsSync(quarantine) ? readdirSync(quarantine) : []).toEqual([]);
  }
  expect(await app.deps.db.query('SELECT workspace_id FROM git_pack WHERE seq IS NULL')).toEqual([]);
  const gone = OF_WORKSPACE.map(
    (table) => `SELECT '${table}' AS name, x.workspace_id FROM ${table} x
      WHERE x.workspace_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM workspace w WHERE w.id = x.workspace_id)
        AND NOT EXISTS (SELECT 1 FROM library l WHERE 'library.' || l.tenant_id = x.workspace_id)`,
  );
  expect(await app.deps.db.query(gone.join(' UNION ALL '))).toEqual([]);
});
