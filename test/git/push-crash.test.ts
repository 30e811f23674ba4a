import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryFolder } from '../../src/git/index.js';
import { applyPendingPush } from '../../src/remotes/index.js';
import { sweepGit } from '../../src/remotes/sweep.js';
import { commitAll, createRemoteApp, git, type RemoteApp, readFolder, runGit } from '../support/git-remote.js';
import { testDatabase } from '../support/postgres.js';
import type { PushOrder } from '../support/push-process.js';
import { bodyOf, insertRun, SMALL } from '../support/workspace-app.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const outfile = join(root, 'dist', `.push-test-${process.pid}.mjs`);
let app: RemoteApp;

beforeAll(async () => {
  await build({
    entryPoints: [join(root, 'test/support/push-process.ts')],
    ...{ outfile, bundle: true, packages: 'external', platform: 'node', format: 'esm' },
  });
  app = await createRemoteApp();
});
afterAll(() => rmSync(outfile, { force: true }));

interface Process {
  readonly child: ChildProcess;
  /** What it says first: where it listens. */
  readonly said: string;
  readonly signal: Promise<NodeJS.Signals | null>;
}

async function start(more: Pick<PushOrder, 'failpoint' | 'apply'>): Promise<Process> {
  const order: PushOrder = { databaseUrl: testDatabase(), dataDir: app.deps.config.dataDir, ...more };
  const child = spawn(process.execPath, [outfile, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const signal = once(child, 'exit').then(([, ended]) => ended as NodeJS.Signals | null);
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  child.stdout.resume();
  return { child, said: first.toString().trim(), signal };
}

interface Stage {
  readonly name: string;
  readonly id: string;
  readonly clone: string;
  readonly commit: string;
}

async function stage(): Promise<Stage> {
  const at = await app.start();
  mkdirSync(join(at.clone, 'knowledge'), { recursive: true });
  writeFileSync(join(at.clone, 'knowledge/new.md'), 'new\n');
  return { ...at, commit: await commitAll(at.clone) };
}

/** Pushes to another process, which dies at the failpoint or after so many ms. */
async function crash({ name, clone }: Stage, failpoint: string | null, killAfterMs?: number): Promise<void> {
  const { said, child, signal } = await start({ failpoint, apply: null });
  const url = app.url(name).replace(app.base.replace('http://', ''), said.replace('http://', ''));
  const pushed = runGit(clone, 'push', url, 'main');
  if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  expect(await signal).toBe('SIGKILL');
  await pushed;
}

/** Old or new and nothing between; the repository is whole; the next push works; nothing of the dead is left. */
async function audit({ name, id, clone, commit }: Stage): Promise<'old' | 'new'> {
  const { revision } = await bodyOf(app.get(`/api/workspaces/${name}`));
  const fresh = readFolder(await app.clone(name));
  const state = revision === commit ? 'new' : 'old';
  expect(fresh).toEqual(state === 'new' ? { ...SMALL, 'knowledge/new.md': 'new\n' } : SMALL);
  const repository = repositoryFolder(app.deps.config.dataDir, id);
  expect(await git(repository, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
  writeFileSync(join(clone, 'knowledge/next.md'), 'next\n');
  await commitAll(clone, 'Next');
  expect(await runGit(clone, 'push', 'origin', 'main')).toMatchObject({ code: 0 });
  expect(readFolder(await app.clone(name))).toEqual(readFolder(clone));
  await app.deps.db.query(`UPDATE git_pack SET created_at = now() - interval '1 day' WHERE workspace_id = $1`, [id]);
  await sweepGit(app.deps, 0);
  const quarantine = join(repository, 'quarantine');
  expect(existsSync(quarantine) ? readdirSync(quarantine) : []).toEqual([]);
  expect(await app.deps.db.query('SELECT 1 FROM git_pack WHERE workspace_id = $1 AND seq IS NULL', [id])).toEqual([]);
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
    await crash(pushed, at);
    expect(await audit(pushed)).toBe(left);
  },
);

test.each([60, 250])('security 15: killed %i ms into a push, the workspace is old or new', async (ms) => {
  const pushed = await stage();
  await crash(pushed, null, ms);
  expect(['old', 'new']).toContain(await audit(pushed));
});

test('security 15: a push that waits outlives whoever took it, and whoever dies while it is applied', async () => {
  const pushed = await stage();
  const { name, id, clone, commit } = pushed;
  const run = await insertRun(app, id);
  await crash(pushed, 'push-parked');
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ pending: { revision: commit } });
  expect(readFolder(await app.clone(name))).toEqual(SMALL);
  const words = () => app.deps.db.query(`SELECT 1 FROM outbox WHERE run_id = $1 AND kind = 'apply-push'`, [id]);
  expect(await words()).toHaveLength(1);
  expect(await applyPendingPush(app.deps, id)).toBe('waiting');
  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/edit.md', content: 'edit\n' });
  await app.deps.db.query(`UPDATE run SET finished_at = now(), status = 'completed' WHERE id = $1`, [run]);
  expect(await words()).toHaveLength(2);

  const { signal } = await start({ failpoint: 'push-merged', apply: id });
  expect(await signal).toBe('SIGKILL');
  expect(await bodyOf(app.get(`/api/workspaces/${name}`))).toMatchObject({ pending: { revision: commit } });
  expect(await applyPendingPush(app.deps, id)).toBe('done');
  expect(await app.readTree(name)).toEqual({ ...SMALL, 'knowledge/new.md': 'new\n', 'knowledge/edit.md': 'edit\n' });
  await git(clone, 'pull', '-q', '--rebase', 'origin', 'main');
  expect(readFolder(clone)).toEqual(await app.readTree(name));
  // The words to Temporal are nobody's here.
  await app.deps.db.query('DELETE FROM outbox WHERE run_id = $1', [id]);
});
