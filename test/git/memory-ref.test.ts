import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { alignRefs, MEMORY_REF } from '../../src/content/index.js';
import { repositoryFolder } from '../../src/git/index.js';
import { loseFolder } from '../support/lose-folder.js';
import { agentWrites, createWorkspaceApp, SMALL } from '../support/workspace-app.js';

const home = mkdtempSync(join(tmpdir(), 'git-memory-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] }).trim();

async function ground() {
  const app = await createWorkspaceApp();
  const workspace = await app.workspace({ ...SMALL, 'memory/rules.md': 'by a person' });
  const folder = repositoryFolder(app.deps.config.dataDir, workspace.id);
  const writes = (path: string, content: string, seen: string | null, more: object = {}) =>
    agentWrites(app, { id: workspace.id, path, content, seen, ...more });
  const clone = () => {
    const target = mkdtempSync(join(home, 'clone-'));
    execFileSync('git', ['clone', '-q', folder, target]);
    return target;
  };
  const align = () => alignRefs(app.deps, workspace.id);
  return { app, ...workspace, folder, writes, clone, align };
}

test('agents’ memory is a ref of its own, a commit a write, with who wrote it and in which run', async () => {
  const { writes, clone, align } = await ground();
  await align();
  expect(git(clone(), 'ls-remote', 'origin')).not.toContain(MEMORY_REF);
  await writes('memory/writer/a.md', 'one', null, { runId: 'run-1' });
  await writes('memory/writer/a.md', 'two', 'one', { runId: 'run-2' });
  await writes('memory/other/"b c".md', 'x\n\0y', null, { agent: 'other', runId: 'run-3' });
  await align();
  const folder = clone();
  expect(git(folder, 'branch', '-a')).not.toContain('memory');
  expect(git(folder, 'ls-tree', '-r', '--name-only', 'HEAD')).not.toContain('memory/writer');
  git(folder, 'fetch', '-q', 'origin', MEMORY_REF);
  expect(
    git(folder, 'log', '--reverse', '--format=%an <%ae> %s | %b', 'FETCH_HEAD').split('\n').filter(Boolean),
  ).toEqual([
    expect.stringMatching(/^writer <agent\.writer@users\.invalid> writer wrote memory\/writer\/a\.md \| Run: run-1/),
    expect.stringMatching(/^Change: /),
    expect.stringMatching(/^writer .* \| Run: run-2/),
    expect.stringMatching(/^Change: /),
    expect.stringMatching(/^other <agent\.other@users\.invalid> .* \| Run: run-3/),
    expect.stringMatching(/^Change: /),
  ]);
  expect(git(folder, 'show', 'FETCH_HEAD:memory/writer/a.md')).toBe('two');
  expect(git(folder, 'show', 'FETCH_HEAD:memory/other/"b c".md')).toBe('x\n\0y');
  expect(git(folder, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
});

test('what somebody else writes or removes leaves the ref, and comes back with the agent’s next write', async () => {
  const { app, name, writes, align, folder } = await ground();
  const files = async () => {
    await align();
    return git(folder, 'ls-tree', '-r', '--name-only', MEMORY_REF).split('\n').filter(Boolean);
  };
  await writes('memory/rules.md', 'by the agent', 'by a person');
  await writes('memory/keep.md', 'kept', null);
  expect(await files()).toEqual(['memory/keep.md', 'memory/rules.md']);
  await app.deploy(name, { ...SMALL, 'memory/rules.md': 'by a person again' });
  expect(await files()).toEqual(['memory/keep.md']);
  expect(git(folder, 'log', '-1', '--format=%an %s', MEMORY_REF)).toMatch(/No longer an agent's: /);
  await writes('memory/rules.md', 'by the agent again', 'by a person again');
  expect(await files()).toEqual(['memory/keep.md', 'memory/rules.md']);
});

test('a repository that was lost, whole or in part, has the very same commits again', async () => {
  const { app, name, writes, align, folder } = await ground();
  for (let n = 0; n < 5; n += 1) {
    await writes(`memory/f${n}.md`, `${n}`, null);
    await align();
    if (n === 2) await app.deploy(name, { ...SMALL, 'memory/f1.md': 'mine' });
  }
  const tip = git(folder, 'rev-parse', MEMORY_REF);
  loseFolder(folder);
  await align();
  expect(git(folder, 'rev-parse', MEMORY_REF)).toBe(tip);
  git(folder, 'update-ref', '-d', MEMORY_REF);
  await align();
  expect(git(folder, 'rev-parse', MEMORY_REF)).toBe(tip);
  git(folder, 'update-ref', MEMORY_REF, 'refs/heads/main');
  await align();
  expect(git(folder, 'rev-parse', MEMORY_REF)).toBe(tip);
});

test('sixty writes at once, while the ref is looked at: one line of commits, none left out', async () => {
  const { id, app, writes, align, folder } = await ground();
  const work = Array.from({ length: 60 }, async (_, n) => {
    await writes(`memory/w${n}.md`, `${n}`, null);
    if (n % 5 === 0) await align();
  });
  await Promise.all(work);
  await Promise.all([align(), align(), align()]);
  expect(git(folder, 'rev-list', '--count', MEMORY_REF)).toBe('60');
  expect(git(folder, 'rev-list', '--merges', '--count', MEMORY_REF)).toBe('0');
  const tip = git(folder, 'rev-parse', MEMORY_REF);
  loseFolder(folder);
  await alignRefs(app.deps, id);
  expect(git(folder, 'rev-parse', MEMORY_REF)).toBe(tip);
});

test('a history of 2,500 writes comes in batches, those of people between them passed over', async () => {
  const { app, id, align, folder } = await ground();
  await agentWrites(app, { id, path: 'memory/a.md', content: 'x', seen: null });
  await app.deps.db.query(
    `INSERT INTO change (workspace_id, id, at, via, by, message, paths, files, run_id)
      SELECT workspace_id, id || '-' || n, at + n * interval '1 s', CASE WHEN n BETWEEN 200 AND 700 THEN 'edit' ELSE 'agent' END, by,
        message || n, ARRAY['memory/p' || n % 9 || '.md'], jsonb_build_array(jsonb_build_object('path', 'memory/p' || n % 9 || '.md',
        'before', NULL, 'after', files->0->>'after')), run_id
      FROM change, generate_series(1, 2499) AS n WHERE workspace_id = $1 AND via = 'agent' ORDER BY n`,
    [id],
  );
  await align();
  expect(Number(git(folder, 'rev-list', '--count', MEMORY_REF))).toBeGreaterThan(8);
  const tree = git(folder, 'ls-tree', '-r', '--name-only', MEMORY_REF).split('\n');
  expect(tree).toHaveLength(10);
  expect(git(folder, 'log', '-1', '--format=%s', MEMORY_REF)).toContain('2499');
});

test('a workspace that is gone has no ref and no folder', async () => {
  const { app, name, writes, align, folder, id } = await ground();
  await writes('memory/a.md', 'x', null);
  await align();
  expect((await app.delete(`/api/workspaces/${name}`)).status).toBe(200);
  expect(await alignRefs(app.deps, id)).toBeNull();
  expect(() => git(folder, 'status')).toThrow();
});
