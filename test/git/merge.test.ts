import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { removeRepository } from '../../src/git/index.js';
import { commitTo, git } from '../support/branches.js';
import { stageRepo } from '../support/repo-stage.js';
import { AGENT, agentWrites, FLOW, insertRun, SMALL } from '../support/workspace-app.js';

const stage = stageRepo();
const { path, repo, live, history, head, act, branch, cloned } = stage;

test('a merge of a branch that is ahead of main moves main on to it', async () => {
  const commit = await branch('next', { 'knowledge/b.md': 'B' }, { 'knowledge/c.md': 'C' });
  expect(await act({ action: 'merge', branch: 'next' })).toMatchObject([
    200,
    { applied: true, commit, added: ['knowledge/b.md', 'knowledge/c.md'] },
  ]);
  expect(await head()).toBe(commit);
  expect((await history())[0]).toMatchObject({ id: commit, via: 'deploy', message: 'Merge branch next' });
  expect((await act({ action: 'merge', branch: 'next' }))[1]).toMatchObject({ ok: true, applied: false });
  expect((await repo()).branches[1]).toMatchObject({ name: 'next', ahead: 0, behind: 0 });
});

test('a merge of a branch that has parted from main makes a commit of two parents, which outlives the repository on the disk', async () => {
  const commit = await branch('next', { 'knowledge/b.md': 'B', 'knowledge/a.md': '1\nTwo\nThree\n' });
  await stage.app.deploy(stage.ws.name, { ...SMALL, 'knowledge/a.md': 'One\nTwo\nThree\nFour\n' });
  const main = await head();
  const [status, answer] = await act({ action: 'merge', branch: 'next' });
  expect([status, answer]).toMatchObject([
    200,
    { applied: true, added: ['knowledge/b.md'], changed: ['knowledge/a.md'] },
  ]);
  expect((await live())['knowledge/a.md']).toBe('1\nTwo\nThree\nFour\n');
  const check = (folder: string) => {
    expect(git(folder, 'rev-parse', 'HEAD', 'HEAD^1', 'HEAD^2').split('\n')).toEqual([answer.gitCommit, main, commit]);
    expect(git(folder, 'log', '-1', '--format=%s')).toBe('Merge branch next');
  };
  await cloned(check);
  await removeRepository(stage.app.deps.config.dataDir, stage.ws.id);
  await cloned(check);
  // And the next deploy goes on from it.
  expect((await stage.app.deploy(stage.ws.name, SMALL)).status).toBe(200);
  await cloned((folder) => expect(git(folder, 'rev-parse', 'HEAD^')).toBe(answer.gitCommit));
});

test('a merge of a branch that changed what main changed is 409 with the paths, and leaves nothing', async () => {
  await branch('next', { 'knowledge/a.md': 'Theirs\n', 'knowledge/b.md': 'B' });
  await stage.app.deploy(stage.ws.name, { ...SMALL, 'knowledge/a.md': 'Ours\n' });
  const before = await head();
  expect(await act({ action: 'merge', branch: 'next' })).toMatchObject([
    409,
    { code: 'repo/merge-conflict', paths: ['knowledge/a.md'] },
  ]);
  expect(await head()).toBe(before);
  expect(
    await stage.app.deps.db.query('SELECT 1 FROM git_pack WHERE workspace_id = $1 AND seq IS NULL', [stage.ws.id]),
  ).toEqual([]);
});

test('a merge of a branch whose files do not go together with main’s is refused whole', async () => {
  await branch('next', { 'flows/second.md': FLOW.replaceAll('hello', 'second') });
  await stage.app.deploy(stage.ws.name, {
    'AGENTS.md': '# Hello\n',
    'agents/poet.md': AGENT.replace('writer', 'poet'),
  });
  const before = await head();
  expect(await act({ action: 'merge', branch: 'next' })).toMatchObject([
    422,
    { ok: false, issues: [{ path: 'flows/second.md' }] },
  ]);
  expect(await head()).toBe(before);
  expect(
    await stage.app.deps.db.query('SELECT 1 FROM git_pack WHERE workspace_id = $1 AND seq IS NULL', [stage.ws.id]),
  ).toEqual([]);
});

test('a merge over live runs is 409, and force does it', async () => {
  await branch('next', { 'knowledge/b.md': 'B' });
  await insertRun(stage.app, stage.ws.id);
  expect(await act({ action: 'merge', branch: 'next' })).toMatchObject([409, { code: 'deploy/live-runs' }]);
  expect(await act({ action: 'merge', branch: 'next', force: true })).toMatchObject([200, { applied: true }]);
});

test('a merge of a branch that has nothing in common with main merges what both have', async () => {
  const orphan = (folder: string) => {
    git(folder, 'checkout', '-q', '--orphan', 'fresh');
    git(folder, 'rm', '-rqf', '.');
    execFileSync('sh', ['-c', 'mkdir -p knowledge && echo B > knowledge/b.md'], { cwd: folder });
  };
  await commitTo(stage.app, stage.ws.id, { ref: 'refs/heads/next', commits: [{}], prepare: orphan });
  expect(await act({ action: 'merge', branch: 'next' })).toMatchObject([
    200,
    { applied: true, added: ['knowledge/b.md'] },
  ]);
  expect((await repo('?branch=next')).base).not.toBeNull();
});

test('five merges at once and deploys between end in one history that git finds sound, and each counts', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  for (const name of names) await branch(name, { [`knowledge/${name}${name}.md`]: name });
  const write = (name: string) =>
    stage.app.put(`/api/workspaces/${stage.ws.name}/source?path=knowledge/edit-${name}.md`, { content: name });
  const answers = await Promise.all(
    names.flatMap((name) => [stage.app.post(path(), { action: 'merge', branch: name }), write(name)]),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const files = Object.keys(await live());
  for (const name of names)
    expect(files).toEqual(expect.arrayContaining([`knowledge/${name}${name}.md`, `knowledge/edit-${name}.md`]));
  await removeRepository(stage.app.deps.config.dataDir, stage.ws.id);
  await cloned((folder) => {
    expect(git(folder, 'ls-files').split('\n').sort()).toEqual(files.sort());
    for (const name of names) git(folder, 'merge-base', '--is-ancestor', `origin/${name}`, 'HEAD');
  });
});

test('a merge leaves memory that agents wrote, but for what the branch itself changes or removes, as a push of it does', async () => {
  const files = { 'memory/writer/a.md': 'old', 'memory/writer/b.md': 'old', 'memory/writer/c.md': 'old' };
  await stage.app.deploy(stage.ws.name, { ...SMALL, ...files });
  await branch('next', { 'memory/writer/a.md': 'by hand', 'memory/writer/b.md': null });
  for (const name of Object.keys(files))
    await agentWrites(stage.app, { id: stage.ws.id, path: name, content: 'by the agent', seen: 'old' });
  await stage.app.put(`/api/workspaces/${stage.ws.name}/source`, { path: 'knowledge/new.md', content: 'new' });
  expect((await act({ action: 'merge', branch: 'next' }))[0]).toBe(200);
  const tree = await live();
  expect(tree).toMatchObject({ 'memory/writer/a.md': 'by hand', 'memory/writer/c.md': 'by the agent' });
  expect(tree).not.toHaveProperty(['memory/writer/b.md']);
});
