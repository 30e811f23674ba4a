import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Checker } from '../../src/format/index.js';
import { expandNotices } from '../../src/notify/expand.js';
import { applyPending } from '../../src/remotes/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { directChecker } from '../support/direct-checker.js';
import { commitAll, git, type Remotes, readFolder, runGit, serveRemotes } from '../support/git-remote.js';
import { ownTemporal } from '../support/own-temporal.js';
import { bodyOf, type Tree } from '../support/workspace-app.js';

const FILES: Tree = {
  'AGENTS.md': '---\ndescription: Waits\nmodels:\n  default: scripted/demo\n---\n',
  'agents/writer.md': '---\ndescription: Writes\n---\nYou write.\n',
  'flows/gate.md': '---\ndescription: Waits for a person\n---\n\n## Sign\n\n- approve: human\n\nOK?\n',
  'knowledge/a.md': 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n',
};

let app: EngineApp;
let remotes: Remotes;
beforeAll(async () => {
  app = await createEngineApp();
  remotes = await serveRemotes(app);
});

interface Stage {
  readonly name: string;
  readonly clone: string;
  readonly run: string;
}

/** A workspace with a run that waits for a person, and a clone of it. */
async function stage(on: EngineApp = app, served: Remotes = remotes): Promise<Stage> {
  const name = await on.workspace(FILES);
  const run = await on.start(name, 'gate');
  await on.until(name, run, ({ status }) => status === 'awaiting-approval');
  return { name, run, clone: await served.clone(name) };
}

const put = (folder: string, path: string, content: string): void => {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), content);
};

const read = (name: string) => bodyOf(app.get(`/api/workspaces/${name}`));
const approve = async ({ name, run }: Stage) =>
  expect((await app.post(`/api/workspaces/${name}/runs/${run}/approve`, { decision: 'approve' })).status).toBe(200);
const waits = (name: string) => expect.poll(async () => (await read(name)).pending).toBeNull();

test('a push over a live run is accepted and waits, a clone stays what is live, and the end of the run applies it', async () => {
  const at = await stage();
  const { name, clone, run } = at;
  put(clone, 'knowledge/new.md', 'new\n');
  const commit = await commitAll(clone);
  const { code, err } = await runGit(clone, 'push', 'origin', 'main');
  expect(code).toBe(0);
  expect(err).toMatch(/waits for the end of a live run/);
  expect(err).toContain(`gate ${run} (awaiting-approval)`);
  expect(err).toMatch(/main -> refs\/service\/pending/);
  expect(await read(name)).toMatchObject({ pending: { revision: commit, reason: 'waits for a live run' } });
  expect(await git(clone, 'rev-parse', 'origin/main')).not.toBe(commit);
  expect(readFolder(await remotes.clone(name))).toEqual(FILES);
  expect(await git(clone, 'ls-remote', 'origin', 'refs/service/pending')).toContain(commit);

  await approve(at);
  await waits(name);
  expect(await read(name)).toMatchObject({ revision: commit });
  expect(readFolder(await remotes.clone(name))).toEqual({ ...FILES, 'knowledge/new.md': 'new\n' });
  expect(await git(clone, 'ls-remote', 'origin', 'refs/service/pending')).toBe('');
});

test('of two that wait the last wins, and what was edited meanwhile is merged with it', async () => {
  const at = await stage();
  const { name, clone } = at;
  put(clone, 'knowledge/first.md', 'first\n');
  await commitAll(clone, 'First');
  expect((await runGit(clone, 'push', 'origin', 'main')).code).toBe(0);
  await git(clone, 'reset', '-q', '--hard', 'origin/main');
  put(clone, 'knowledge/second.md', 'second\n');
  put(clone, 'knowledge/a.md', (FILES['knowledge/a.md'] ?? '').replace('seven', 'SEVEN'));
  const second = await commitAll(clone, 'Second');
  expect((await runGit(clone, 'push', 'origin', 'main')).code).toBe(0);
  expect((await read(name)).pending.revision).toBe(second);
  const edit = { path: 'knowledge/a.md', content: (FILES['knowledge/a.md'] ?? '').replace('one', 'ONE') };
  expect((await app.put(`/api/workspaces/${name}/source`, edit)).status).toBe(200);

  await approve(at);
  await waits(name);
  const after = readFolder(await remotes.clone(name));
  expect(after['knowledge/a.md']).toBe('ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n');
  expect(after['knowledge/second.md']).toBe('second\n');
  expect(after).not.toHaveProperty(['knowledge/first.md']);
  const fresh = await remotes.clone(name);
  expect((await git(fresh, 'log', '-1', '--format=%P')).split(' ')).toContain(second);
  expect(await git(fresh, 'fsck', '--full', '--strict')).toBe('');
});

const reasonOf = async (name: string) => (await read(name)).pending?.reason ?? null;
const shows = (name: string, reason: string) => expect.poll(() => reasonOf(name)).toBe(reason);

/** A push over a live run, which conflicts with an edit made meanwhile by the time the run ends. */
async function conflicting(): Promise<Stage & { readonly commit: string }> {
  const at = await stage();
  const { name, clone } = at;
  put(clone, 'knowledge/a.md', 'mine\n');
  const commit = await commitAll(clone);
  expect((await runGit(clone, 'push', 'origin', 'main')).code).toBe(0);
  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/a.md', content: 'theirs\n' });
  await approve(at);
  await shows(name, 'conflicts in knowledge/a.md');
  return { ...at, commit };
}

const noticesOf = (name: string) =>
  app.deps.db.query<{ data: { reason: string } }>(
    `SELECT n.data FROM notice n JOIN workspace w ON w.id = n.workspace_id WHERE w.name = $1 AND n.event = 'deploy.refused'`,
    [name],
  );

test('one that conflicts with what came meanwhile stays pending with its reason, in history, in the audit and told to its pusher', async () => {
  const { name, clone, commit } = await conflicting();
  expect((await read(name)).pending).toEqual({ revision: commit, reason: 'conflicts in knowledge/a.md' });
  expect((await noticesOf(name)).map(({ data }) => data.reason)).toEqual([
    expect.stringMatching(/conflicts.*knowledge\/a\.md/),
  ]);
  // No `notify` names anybody: the person behind the push is notified all the same.
  await expandNotices(app.deps);
  const mails = await app.deps.db.query(
    `SELECT n.event, n.channel, n.content->>'text' ~ 'conflicts' AS says FROM notification n
      JOIN api_key k ON k.tenant_id = n.tenant_id JOIN member m ON m.id = k.minted_by_id AND m.email = n.target
      WHERE k.tenant_id = $1 AND k.label = 'admin' AND n.content->>'workspace' = $2`,
    [app.tenant, name],
  );
  expect(mails).toEqual([{ event: 'deploy.refused', channel: 'mail', says: true }]);
  const refused = { via: 'push', commit, refused: 'conflicts in knowledge/a.md', paths: ['knowledge/a.md'] };
  const { changes } = await bodyOf(app.get(`/api/workspaces/${name}/history`));
  expect(changes[0]).toMatchObject({
    ...refused,
    gitCommit: null,
    message: expect.stringContaining(commit.slice(0, 12)),
  });
  expect(changes[1]).toMatchObject({ via: 'edit', refused: null });
  expect(await bodyOf(app.get(`/api/workspaces/${name}/history?id=${commit}`))).toMatchObject({
    ...refused,
    files: [],
  });
  const { entries } = await bodyOf(app.get(`/api/audit?action=git.push.refused&target=${name}`));
  expect(entries).toMatchObject([
    { action: 'git.push.refused', detail: { commit, reason: 'conflicts in knowledge/a.md' } },
  ]);

  // Nothing but an act on it ends it: not another run's end, and not an edit.
  const run = await app.start(name, 'gate');
  await app.until(name, run, ({ status }) => status === 'awaiting-approval');
  await approve({ name, clone, run });
  await app.ended(name, run);
  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/b.md', content: 'b\n' });
  expect(await reasonOf(name)).toBe('conflicts in knowledge/a.md');
  await git(clone, 'fetch', '-q', 'origin', 'main', 'refs/service/pending:refs/heads/refused');
  expect(await git(clone, 'rev-parse', 'refused')).toBe(commit);
});

test('a refused push is settled by its pusher’s next push, and by a merge that holds it', async () => {
  const first = await conflicting();
  await git(first.clone, 'fetch', '-q', 'origin', 'main');
  await git(first.clone, 'reset', '-q', '--hard', 'origin/main');
  put(first.clone, 'knowledge/a.md', 'both\n');
  await commitAll(first.clone);
  expect((await runGit(first.clone, 'push', 'origin', 'main')).code).toBe(0);
  expect(readFolder(await remotes.clone(first.name))['knowledge/a.md']).toBe('both\n');
  expect((await read(first.name)).pending).toBeNull();
  expect(await git(first.clone, 'ls-remote', 'origin', 'refs/service/pending')).toBe('');

  const second = await conflicting();
  await git(second.clone, 'checkout', '-q', '-b', 'mended');
  await git(second.clone, 'fetch', '-q', 'origin', 'main');
  await git(second.clone, 'merge', '-q', '-X', 'ours', '-m', 'Mend', 'origin/main');
  expect((await runGit(second.clone, 'push', 'origin', 'mended')).code).toBe(0);
  expect((await read(second.name)).pending).not.toBeNull();
  const merged = await app.post(`/api/workspaces/${second.name}/repo`, { action: 'merge', branch: 'mended' });
  expect(merged.status).toBe(200);
  expect((await read(second.name)).pending).toBeNull();
});

test('a refused push can be tried again once the conflict is gone, and given up', async () => {
  const { name, commit } = await conflicting();
  const act = (body: object) => app.post(`/api/workspaces/${name}/repo`, body);
  const again = { action: 'deploy', ref: 'refs/service/pending' };
  expect((await act(again)).status).toBe(422);
  expect(await reasonOf(name)).toBe('conflicts in knowledge/a.md');
  expect(await noticesOf(name)).toHaveLength(1);
  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/a.md', content: FILES['knowledge/a.md'] });
  expect(await bodyOf(act(again))).toMatchObject({ ok: true, applied: true, changed: ['knowledge/a.md'] });
  expect((await read(name)).pending).toBeNull();

  const other = await conflicting();
  const drop = () => app.post(`/api/workspaces/${other.name}/repo`, { action: 'drop-pending' });
  expect(await bodyOf(drop())).toEqual({ ok: true, dropped: other.commit });
  expect((await read(other.name)).pending).toBeNull();
  expect(await git(other.clone, 'ls-remote', 'origin', 'refs/service/pending')).toBe('');
  const none = await drop();
  expect([none.status, await bodyOf(none)]).toMatchObject([409, { code: 'repo/nothing-waits' }]);
  expect(commit).not.toBe(other.commit);
});

test('one that no longer goes together with what came meanwhile is refused in its own words, and read once for that', async () => {
  const { name, clone } = await stage();
  put(clone, 'flows/hello.md', '---\ndescription: Says hello.\n---\n\n## Say it @writer\n\nSay hello.\n');
  await commitAll(clone);
  expect((await runGit(clone, 'push', 'origin', 'main')).code).toBe(0);
  expect((await app.delete(`/api/workspaces/${name}/source?path=agents/writer.md`)).status).toBe(200);
  const [row] = await app.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE name = $1', [name]);
  let read = 0;
  const checker: Checker = {
    ...directChecker,
    check: (...asked) => {
      read += 1;
      return directChecker.check(...asked);
    },
  };
  const applied = await applyPending({ ...app.deps, checker }, row?.id ?? '', { overLiveRuns: true });
  expect(applied).toMatchObject({
    kind: 'refused',
    refusal: { message: expect.stringMatching(/^the push that waited has one error, .*flows\/hello\.md/) },
  });
  expect(read).toBe(1);
  expect(await reasonOf(name)).toBe('has errors in flows/hello.md');
});

test('a push that waits can be applied over the live runs, which go on as they began', async () => {
  const at = await stage();
  const { name, clone } = at;
  put(clone, 'knowledge/now.md', 'now\n');
  const commit = await commitAll(clone);
  await runGit(clone, 'push', 'origin', 'main');
  const [row] = await app.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE name = $1', [name]);
  const id = row?.id ?? '';
  expect(await applyPending(app.deps, id, { overLiveRuns: false })).toMatchObject({ kind: 'waiting' });
  expect(await applyPending(app.deps, id, { overLiveRuns: true })).toMatchObject({
    kind: 'applied',
    result: { applied: true },
  });
  expect(await read(name)).toMatchObject({ revision: commit, pending: null });
  await approve(at);
  await app.ended(name, at.run);
});

test('a push tells what its evals said', async () => {
  const flow = '---\ndescription: Says hello.\n---\n\n## Say it @writer\n\nSay hello.\n';
  const check = (name: string, expectation: string) =>
    `---\nname: ${name}\ndescription: Checks.\ntarget: flows/hello\n---\n\n## One\n\nHello.\n\n### Expect\n\n- ${expectation}\n`;
  const name = await app.workspace({ ...FILES, 'flows/hello.md': flow });
  const clone = await remotes.clone(name);
  put(clone, 'evals/good.md', check('good', 'status: completed'));
  put(clone, 'evals/poor.md', check('poor', 'status: failed'));
  await commitAll(clone);
  const { code, err } = await runGit(clone, 'push', 'origin', 'main');
  expect(code).toBe(0);
  expect(err).toMatch(/^remote: eval good: (passed, 1 of 1 cases|still running)/m);
  expect(err).toMatch(/^remote: eval poor: (failed, 1 of 1 cases|still running).*GET \/api\/workspaces/m);
});

test('a push that waits is kept while Temporal is away, as is the one after it, and the end of the run applies it once Temporal is back', async () => {
  const temporal = await ownTemporal({});
  onTestFinished(() => temporal.close());
  const own = await createEngineApp({ temporal: temporal.at });
  onTestFinished(() => own.stopWorker());
  const { name, run, clone } = await stage(own, await serveRemotes(own));
  const push = async (path: string): Promise<string> => {
    put(clone, path, `${path}\n`);
    const commit = await commitAll(clone, path);
    expect(await runGit(clone, 'push', 'origin', 'main')).toMatchObject({ code: 0 });
    return commit;
  };
  await push('knowledge/before.md');
  const words = () => own.deps.db.query('SELECT kind FROM outbox');
  await expect.poll(words).toEqual([]);
  const [row] = await own.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE name = $1', [name]);
  const workflow = temporal.client.workflow.getHandle(`apply-push-${row?.id}`);
  expect((await workflow.describe()).status.name).toBe('RUNNING');
  let last = '';
  await temporal.whileAway(async () => {
    last = await push('knowledge/meanwhile.md');
    const approved = await own.post(`/api/workspaces/${name}/runs/${run}/approve`, { decision: 'approve' });
    expect(approved.status).toBe(200);
    expect((await bodyOf(own.get(`/api/workspaces/${name}`))).pending.revision).toBe(last);
  });
  await expect
    .poll(async () => bodyOf(own.get(`/api/workspaces/${name}`)))
    .toMatchObject({ pending: null, revision: last });
  expect((await own.ended(name, run)).status).toBe('completed');
  expect(readFolder(clone)).toMatchObject({ 'knowledge/before.md': expect.anything(), ...FILES });
  await expect.poll(words).toEqual([]);
  expect(await workflow.result()).toBeUndefined();
});
