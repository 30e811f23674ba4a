import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { setRef } from '../../src/content/index.js';
import { removeRepository } from '../../src/git/index.js';
import { commitTo, git } from '../support/branches.js';
import { pusher } from '../support/previews.js';
import { stageRepo } from '../support/repo-stage.js';
import { agentWrites, FLOW, insertRun, SMALL } from '../support/workspace-app.js';

const stage = stageRepo();
const { live, history, head, act, branch, cloned } = stage;

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
      setRef(sql, { workspaceId: stage.ws.id, name: 'refs/tags/old', oid: parent, by: pusher(stage.app.tenant).actor }),
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

  test('keeps memory that an agent wrote and a person corrected since', async () => {
    await stage.app.deploy(stage.ws.name, { ...SMALL, 'AGENTS.md': '1' }, { commit: 'v1.2.3' });
    await agentWrites(stage.app, { id: stage.ws.id, path: 'memory/writer/a.md', content: 'agent', seen: null });
    const source = `/api/workspaces/${stage.ws.name}/source`;
    expect((await stage.app.put(source, { path: 'memory/writer/a.md', content: 'corrected' })).status).toBe(200);
    await stage.app.deploy(stage.ws.name, SMALL);
    // By the id that its deploy gave.
    expect((await act({ action: 'deploy', ref: 'v1.2.3' }))[1]).toMatchObject({ removed: [], changed: ['AGENTS.md'] });
    expect(await live()).toEqual({ ...SMALL, 'AGENTS.md': '1', 'memory/writer/a.md': 'corrected' });
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
    expect(await act({ action: 'deploy', ref: 'nothing' })).toEqual([404, { error: 'no such ref', code: 'not-found' }]);
    expect(await act({ action: 'deploy', ref: '0'.repeat(40) })).toEqual([
      404,
      { error: 'no such ref', code: 'not-found' },
    ]);
    expect(await act({ action: 'deploy', ref: '--all' })).toEqual([404, { error: 'no such ref', code: 'not-found' }]);
    expect(await head()).toBe(before);
  });

  test('of the push that waits makes main that very commit, over the live runs that it waited for', async () => {
    await insertRun(stage.app, stage.ws.id);
    const commit = await insertPending({ 'knowledge/b.md': 'B' });
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
  await insertPending({ 'knowledge/a.md': 'mine\n' });
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

/** A push that waits for live runs, over what is live; answers its commit. */
async function insertPending(changes: Readonly<Record<string, string>>): Promise<string> {
  const commit = await commitTo(stage.app, stage.ws.id, { ref: 'refs/service/pending', commits: [changes] });
  await stage.app.deps.db.query(
    `INSERT INTO pending_push (workspace_id, oid, caller, reason) VALUES ($1, $2, $3, 'a run')`,
    [stage.ws.id, commit, JSON.stringify(pusher(stage.app.tenant))],
  );
  return commit;
}
