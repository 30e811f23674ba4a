import { describe, expect, test } from 'vitest';
import { readLiveTree } from '../../src/content/index.js';
import type { Net } from '../../src/platform/net/contract.js';
import { beginPushes } from '../../src/remotes/code-host/begin-pushes.js';
import { InFlight } from '../../src/shared/in-flight.js';
import { KINDS, SECRET, sendPush, startCodeHost } from '../support/code-host.js';
import { startLocalServer } from '../support/local-server.js';
import { opened, stagePushes } from '../support/push-stage.js';
import { gzippedTar } from '../support/tar.js';
import { AGENT, bodyOf, FLOW, insertRun, SMALL } from '../support/workspace-app.js';

const TREE = { ...SMALL, 'knowledge/a.md': 'A' };
const stage = stagePushes();
const { put, pushes, tell, lines } = stage;

const history = async () => (await bodyOf(stage.app.get(`/api/workspaces/${stage.ws.name}/history`))).changes;
const live = async () => Object.keys(await stage.app.readTree(stage.ws.name)).sort();

/** All that can be done now. */
async function work(net: Net = stage.app.deps.net): Promise<void> {
  const at = new InFlight({ atOnce: 4, each: 4 }, () => undefined);
  while ((await beginPushes({ ...stage.app.deps, net }, at)) > 0) await at.idle();
}

/** As if its time had come. */
async function hurry(): Promise<void> {
  await stage.app.deps.db.query(`UPDATE code_push SET due_at = now() - interval '1 s' WHERE workspace_id = $1`, [
    stage.ws.id,
  ]);
  await work();
}

test.each(KINDS)(
  'a push of %s is kept before any work, then fetched and deployed under its own commit',
  async (kind) => {
    await put('GIT_FETCH_TOKEN', 'fetch-token-1');
    const commit = stage.host.push(TREE);
    const [status, answer] = await tell(kind, commit);
    expect([status, answer]).toEqual([202, { ok: true, id: expect.any(String), commit }]);
    expect(stage.host.server.requests).toEqual([]);
    await work();
    expect(await live()).toEqual(Object.keys(TREE).sort());
    const [change] = await history();
    expect(change).toMatchObject({
      id: commit,
      via: 'push',
      message: 'Greet by name',
      by: { kind: 'event', id: kind, label: expect.stringContaining('Ada Lovelace and another') },
    });
    expect(await pushes()).toEqual([
      expect.objectContaining({
        state: 'applied',
        host: kind,
        branch: 'main',
        commit,
        revision: commit,
        authors: ['Ada Lovelace', 'Grace Hopper'],
        repository: `${stage.host.server.url}/acme/desk`,
        nextAt: null,
      }),
    ]);
    const [asked] = stage.host.server.requests;
    expect(asked?.headers[kind === 'gitlab' ? 'private-token' : 'authorization']).toContain('fetch-token-1');
  },
);

test('the end of the process stops a fetch that hangs: the next worker continues at once, and no attempt is counted', async () => {
  const commit = stage.host.push(TREE);
  await tell('github', commit);
  const asked = new Promise<void>((resolve) => {
    // Half of an answer: the headers and no body.
    stage.host.answerWith((response) => {
      response.writeHead(200, { 'content-type': 'application/x-gzip' }).flushHeaders();
      resolve();
    });
  });
  const stop = new AbortController();
  const failures: unknown[] = [];
  const at = new InFlight({ atOnce: 4, each: 4 }, (error) => void failures.push(error));
  expect(await beginPushes(stage.app.deps, at, stop.signal)).toBe(1);
  await asked;
  stop.abort();
  await at.idle();
  expect(await pushes()).toEqual([expect.objectContaining({ state: 'pending', commit, detail: null, tries: 0 })]);
  expect(await beginPushes(stage.app.deps, at, stop.signal)).toBe(0);
  stage.host.answerWith(null);
  await work();
  expect(await pushes()).toEqual([expect.objectContaining({ state: 'applied', commit })]);
  expect(failures).toEqual([]);
});

test('what is a program at the code host is one here', async () => {
  const tree = { ...TREE, 'scripts/run.sh': '#!/bin/sh\n', 'scripts/lib.sh': 'x\n' };
  await tell('github', stage.host.push(tree));
  await work();
  const { source } = await readLiveTree(stage.app.deps.db, stage.ws.id);
  expect([...source].filter(([, file]) => file.executable).map(([path]) => path)).toEqual(['scripts/run.sh']);
});

test('a public repository is asked without a credential', async () => {
  await tell('gitea', stage.host.push(TREE));
  await work();
  expect(stage.host.server.requests.map(({ headers }) => [headers.authorization, headers['private-token']])).toEqual([
    [undefined, undefined],
  ]);
  expect(await live()).toEqual(Object.keys(TREE).sort());
});

test('?branch= names the branch that is deployed, ?dir= the folder of the repository', async () => {
  const files = Object.fromEntries(Object.entries(TREE).map(([path, text]) => [`ops/desk/${path}`, text]));
  const commit = stage.host.push({ ...files, 'README.md': 'Other', 'src/main.ts': 'x' });
  const query = '?branch=live&dir=/ops/desk/';
  expect(await tell('github', commit, { query })).toEqual([
    200,
    { ok: true, skipped: 'refs/heads/main is not the branch live' },
  ]);
  expect((await tell('github', commit, { query, ref: 'refs/heads/live' }))[0]).toBe(202);
  await work();
  expect(await live()).toEqual(Object.keys(TREE).sort());
  expect((await tell('github', commit, { query: '?dir=../x' }))[0]).toBe(422);
});

test.each(KINDS)(
  'security 10: a delivery of %s that comes again, or twenty times at once, is one push',
  async (kind) => {
    const commit = stage.host.push(TREE);
    const id = `delivery-${kind}`;
    const answers = await Promise.all(Array.from({ length: 20 }, () => tell(kind, commit, { id })));
    expect(answers.filter(([, body]) => !(body as { duplicate?: true }).duplicate)).toHaveLength(1);
    expect(new Set(answers.map(([status, body]) => `${status} ${(body as { id: string }).id}`)).size).toBe(1);
    await work();
    expect(await pushes()).toHaveLength(1);
    expect((await history()).filter(({ via }: { via: string }) => via === 'push')).toHaveLength(1);
  },
);

test('the same commit told under another id changes nothing, and says so', async () => {
  const commit = stage.host.push(TREE);
  await tell('github', commit);
  await work();
  await tell('github', commit);
  await work();
  expect((await pushes()).map(({ state }: { state: string }) => state)).toEqual(['unchanged', 'applied']);
});

test('files with errors are refused whole, with the first fault; who is told of deploy.refused is', async () => {
  await tell('github', stage.host.push({ ...TREE, 'flows/hello.md': FLOW.replace('@writer', '@nobody') }));
  await work();
  const [push] = await pushes();
  expect(push).toMatchObject({ state: 'refused', revision: null });
  expect(push.detail).toContain('flows/hello.md:');
  expect(await live()).toEqual(Object.keys(SMALL).sort());
  const notices = await stage.app.deps.db.query(
    `SELECT data FROM notice WHERE workspace_id = $1 AND event = 'deploy.refused'`,
    [stage.ws.id],
  );
  expect(notices).toHaveLength(1);
});

test('over live runs it waits, and is deployed when they have ended; of two that wait the last wins', async () => {
  const run = await insertRun(stage.app, stage.ws.id);
  await tell('github', stage.host.push({ ...SMALL, 'knowledge/old.md': 'Old' }));
  await work();
  expect((await pushes())[0]).toMatchObject({
    state: 'waiting',
    detail: 'a run is live: it is deployed when they have ended',
  });
  const second = stage.host.push(TREE);
  await tell('github', second);
  await hurry();
  expect((await pushes()).map(({ state }: { state: string }) => state)).toEqual(['waiting', 'superseded']);
  expect(stage.host.server.requests).toEqual([]);
  await stage.app.deps.db.query(`UPDATE run SET status = 'completed', finished_at = now() WHERE id = $1`, [run]);
  await hurry();
  expect((await pushes()).map(({ state }: { state: string }) => state)).toEqual(['applied', 'superseded']);
  expect((await history())[0].id).toBe(second);
});

test('a push that was overtaken while it was fetched is not deployed', async () => {
  const first = stage.host.push({ ...SMALL, 'knowledge/old.md': 'Old' });
  const second = stage.host.push(TREE);
  await tell('github', first);
  stage.host.answerWith(async (response) => {
    stage.host.answerWith(null);
    await tell('github', second);
    const archive = gzippedTar([{ path: 'top/AGENTS.md', content: '# Old\n' }]);
    response.writeHead(200).end(archive);
  });
  await work();
  expect((await pushes()).map(({ state }: { state: string }) => state)).toEqual(['applied', 'superseded']);
  expect((await history())[0].id).toBe(second);
  expect((await history()).map(({ id }: { id: string }) => id)).not.toContain(first);
});

test('what agents wrote stays where the push did not change the file, and gives way where it did', async () => {
  const memory = (text: string) => ({ 'memory/writer/notes.md': text, 'agents/writer.md': AGENT });
  await tell('github', stage.host.push({ ...TREE, ...memory('One') }));
  await work();
  await stage.app.deps.db.query(
    `INSERT INTO memory_file (workspace_id, path, sha, size, agent, run_id) SELECT workspace_id, 'memory/writer/notes.md', sha, size, 'writer', 'r'
      FROM blob WHERE workspace_id = $1 AND convert_from(content, 'UTF8') = 'A'`,
    [stage.ws.id],
  );
  await tell('github', stage.host.push({ ...TREE, ...memory('One'), 'knowledge/b.md': 'B' }));
  await work();
  expect((await stage.app.readTree(stage.ws.name))['memory/writer/notes.md']).toBe('A');
  await tell('github', stage.host.push({ ...TREE, ...memory('Two') }));
  await work();
  expect((await stage.app.readTree(stage.ws.name))['memory/writer/notes.md']).toBe('Two');
});

describe('fetching', () => {
  test('a host that fails is asked again, with growing pauses, and its answer is told', async () => {
    const commit = stage.host.push(TREE);
    await tell('github', commit);
    stage.host.answerWith((response) => void response.writeHead(503).end());
    await work();
    const [push] = await pushes();
    expect(push).toMatchObject({
      state: 'pending',
      tries: 1,
      detail: `127.0.0.1:${stage.host.server.port} answered 503 when asked for the commit’s archive`,
    });
    expect(Date.parse(push.nextAt)).toBeGreaterThan(Date.now());
    await hurry();
    expect((await pushes())[0].tries).toBe(2);
    stage.host.answerWith(null);
    await hurry();
    expect((await pushes())[0]).toMatchObject({ state: 'applied', commit });
  });

  test('after the last pause it has failed, and who is told of deploy.refused is', async () => {
    await tell('github', stage.host.push(TREE));
    stage.host.answerWith((response) => void response.destroy());
    for (let round = 0; round < 8; round += 1) await hurry();
    expect((await pushes())[0]).toMatchObject({ state: 'failed', tries: 7, nextAt: null });
    const notices = await stage.app.deps.db.query(
      `SELECT 1 FROM notice WHERE workspace_id = $1 AND event = 'deploy.refused'`,
      [stage.ws.id],
    );
    expect(notices).toHaveLength(1);
  });

  test('a token that is refused is told at once', async () => {
    await put('GIT_FETCH_TOKEN', 'fetch-token-1');
    await tell('github', stage.host.push(TREE));
    stage.host.answerWith((response) => void response.writeHead(401).end());
    await work();
    const [push] = await pushes();
    expect(push.state).toBe('refused');
    expect(push.detail).toContain('see whether GIT_FETCH_TOKEN may read this repository');
  });

  test('security 17: a hostile archive costs its own push, and leaves nothing', async () => {
    await tell('github', stage.host.push(TREE));
    const archive = gzippedTar([
      { path: 'top/AGENTS.md', content: '# Hello\n' },
      { path: 'top/../../outside.md', content: 'x' },
    ]);
    stage.host.answerWith((response) => void response.writeHead(200).end(archive));
    await work();
    expect((await pushes())[0]).toMatchObject({
      state: 'refused',
      detail: expect.stringContaining('a path of the archive has an empty'),
    });
    expect(await live()).toEqual(Object.keys(SMALL).sort());
  });

  test('security 21: a redirect to another origin takes no token along, and to a closed one is not followed', async () => {
    await put('GIT_FETCH_TOKEN', 'fetch-token-1');
    const store = await startLocalServer((_request, response) => void response.writeHead(200).end(archive));
    const archive = gzippedTar(Object.entries(TREE).map(([path, content]) => ({ path: `top/${path}`, content })));
    stage.host.answerWith((response) => void response.writeHead(302, { location: `${store.url}/signed?key=1` }).end());
    await tell('gitlab', stage.host.push(TREE));
    await work(opened([stage.host.server.port]));
    expect((await pushes())[0]).toMatchObject({
      state: 'refused',
      detail: expect.stringContaining('SERVICE_ALLOW_HOSTS'),
    });
    expect(store.requests).toEqual([]);
    await tell('gitlab', stage.host.push(TREE));
    await work();
    expect((await pushes())[0]).toMatchObject({ state: 'applied' });
    expect(JSON.stringify(store.requests)).not.toContain('fetch-token-1');
    expect(store.requests).toHaveLength(1);
  });

  test('security 21: a signed payload does not send the token to a server of its own', async () => {
    await put('GIT_FETCH_TOKEN', 'fetch-token-1');
    await tell('gitea', stage.host.push(TREE));
    await work();
    const thief = await startCodeHost();
    const commit = thief.push(SMALL);
    const steal = () =>
      sendPush(stage.app, { workspace: stage.ws.name, kind: 'gitea', payload: thief.payload('gitea', commit) });
    await steal();
    await work();
    expect(thief.server.requests).toEqual([]);
    expect((await pushes())[0]).toMatchObject({
      state: 'refused',
      detail: `GIT_FETCH_TOKEN is used for ${stage.host.server.url}/acme/desk, and this push is of ${thief.server.url}/acme/desk: store the secret again to use it there`,
    });
    await put('GIT_FETCH_TOKEN', 'fetch-token-2');
    await steal();
    await work();
    expect(thief.server.requests[0]?.headers.authorization).toBe('token fetch-token-2');
    expect((await pushes())[0].state).toBe('applied');
  });
});

test('no token and no secret is in a log, an answer or a row', async () => {
  await put('GIT_FETCH_TOKEN', 'fetch-token-1');
  await tell('gitlab', stage.host.push(TREE));
  stage.host.answerWith((response) => void response.writeHead(403).end('PRIVATE-TOKEN fetch-token-1'));
  await work();
  const rows = await stage.app.deps.db.query('SELECT * FROM code_push WHERE workspace_id = $1', [stage.ws.id]);
  const all = JSON.stringify([lines, rows, await pushes()]);
  expect(all).not.toContain('fetch-token-1');
  expect(all).not.toContain(SECRET);
});

test('a flow that listens to push is started, with the commit and its authors', async () => {
  const listening =
    '---\nname: told\ndescription: X.\ntrigger: event\nevent: push\n---\n\n## Say it @writer\n\nSay hello.\n';
  const commit = stage.host.push({ ...TREE, 'flows/told.md': listening });
  await tell('github', commit);
  await work();
  const raised = await stage.app.deps.db.query<{ body: object }>(
    `SELECT body FROM raised_event WHERE workspace_id = $1 AND kind = 'push'`,
    [stage.ws.id],
  );
  expect(raised.map(({ body }) => body)).toEqual([
    expect.objectContaining({ event: 'push', branch: 'main', commit, authors: ['Ada Lovelace', 'Grace Hopper'] }),
  ]);
});
