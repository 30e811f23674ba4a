import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../src/api/log.js';
import { routes } from '../../src/api/routes/index.js';
import type { Net } from '../../src/platform/net/contract.js';
import { createNet } from '../../src/platform/net/index.js';
import { beginMirrors } from '../../src/remotes/repo/mirror/mirror-due.js';
import { InFlight } from '../../src/shared/in-flight.js';
import { commitTo, git } from '../support/branches.js';
import { type GitServer, startGitServer } from '../support/git-http.js';
import { bodyOf, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

const TOKEN = 'mirror-token-0123456789';
const lines: string[] = [];
let app: WorkspaceApp;
let ws: { readonly name: string; readonly id: string };
let server: GitServer;

beforeAll(async () => {
  const log = createLog('debug', { write: (line: string) => void lines.push(line) });
  app = await createWorkspaceApp({ routes, deps: { log, net: opened() } });
});
beforeEach(async () => {
  // Those of the tests before, some of which are to be tried again.
  await app.deps.db.query('DELETE FROM mirror m USING workspace w WHERE w.id = m.workspace_id AND w.tenant_id = $1', [
    app.tenant,
  ]);
  ws = await app.workspace();
  server = await startGitServer(TOKEN);
});

function opened(names: readonly string[] = ['127.0.0.1'], addresses = ['127.0.0.1']): Net {
  const allowHosts = names.map((host) => ({ host, port: null }));
  return createNet({
    config: { allowHosts, version: '1' },
    resolve: async () => addresses.map((address) => ({ address, family: 4 })),
  });
}

async function act(body: object): Promise<readonly [number, Awaited<ReturnType<typeof bodyOf>>]> {
  const response = await app.post(`/api/workspaces/${ws.name}/repo`, body);
  return [response.status, await bodyOf(response)];
}
const repo = () => bodyOf(app.get(`/api/workspaces/${ws.name}/repo`));
const set = (url = server.url) => act({ action: 'mirror', url, https: false });
const store = (value: string, workspace: string | undefined = ws.name) =>
  app.put('/api/secrets', { name: 'MIRROR_TOKEN', workspace, value });

/** All that is due now, to its end; answers how many that was. */
async function work(net: Net = app.deps.net, signal?: AbortSignal): Promise<number> {
  const at = new InFlight({ atOnce: 4, each: 4 }, (error) => {
    throw error;
  });
  const begun = await beginMirrors({ ...app.deps, net }, at, signal);
  await at.idle();
  return begun;
}

/** As if its time had come. */
async function hurry(net?: Net): Promise<void> {
  await app.deps.db.query(`UPDATE mirror SET due_at = now() - interval '1 s' WHERE workspace_id = $1`, [ws.id]);
  await work(net);
}

test('a mirror has main, branches and tags after each change, loses what goes, and never has the service’s own refs', async () => {
  await store(TOKEN);
  expect(await set()).toEqual([
    200,
    {
      ok: true,
      mirror: {
        url: server.url,
        https: false,
        lastAt: null,
        lastError: null,
        pending: true,
        nextAt: expect.any(String),
      },
    },
  ]);
  await work();
  const [main] = (await repo()).branches;
  expect(server.refs()).toEqual({ 'refs/heads/main': main.commit });
  expect((await repo()).mirror).toEqual({
    url: server.url,
    https: false,
    lastAt: expect.any(String),
    lastError: null,
    pending: false,
    nextAt: null,
  });
  expect(await work()).toBe(0);

  const next = await commitTo(app, ws.id, { ref: 'refs/heads/next', commits: [{ 'knowledge/b.md': 'B' }] });
  const tag = await commitTo(app, ws.id, { ref: 'refs/tags/v1', commits: [{ 'knowledge/t.md': 'T' }] });
  await commitTo(app, ws.id, { ref: 'refs/service/memory', commits: [{ 'knowledge/m.md': 'M' }] });
  await work();
  expect(server.refs()).toEqual({ 'refs/heads/main': main.commit, 'refs/heads/next': next, 'refs/tags/v1': tag });

  await app.put(`/api/workspaces/${ws.name}/source?path=knowledge/c.md`, { content: 'C' });
  await act({ action: 'delete-branch', branch: 'next' });
  await work();
  const [moved] = (await repo()).branches;
  expect(moved.commit).not.toBe(main.commit);
  expect(server.refs()).toEqual({ 'refs/heads/main': moved.commit, 'refs/tags/v1': tag });
  expect(git(server.folder, 'show', 'main:knowledge/c.md')).toBe('C');
  git(server.folder, 'fsck', '--full');
  expect(new Set(server.credentials)).toEqual(new Set([null, `x-access-token:${TOKEN}`]));
});

test('what stands on the mirror otherwise gives way, also where it is no ancestor', async () => {
  await store(`robot:${TOKEN}`);
  await set();
  await work();
  const other = git(server.folder, 'commit-tree', '-m', 'Other', git(server.folder, 'write-tree'));
  git(server.folder, 'update-ref', 'refs/heads/main', other);
  git(server.folder, 'update-ref', 'refs/heads/stray', other);
  await act({ action: 'mirror-now' });
  await work();
  expect(server.refs()).toEqual({ 'refs/heads/main': (await repo()).branches[0].commit });
  expect(server.credentials).toContain(`robot:${TOKEN}`);
});

describe('a mirror that fails', () => {
  test('says why, is tried again with growing pauses, and at once after a change', async () => {
    await store(TOKEN);
    await set();
    server.intercept = (_request, response) => {
      response.writeHead(503).end();
      return true;
    };
    await work();
    const first = (await repo()).mirror;
    expect(first).toMatchObject({ lastAt: null, pending: true, lastError: expect.stringContaining('503') });
    expect(await work()).toBe(0);
    await hurry();
    const second = (await repo()).mirror;
    expect(Date.parse(second.nextAt) - Date.now()).toBeGreaterThan(20_000);
    server.intercept = null;
    await app.put(`/api/workspaces/${ws.name}/source?path=knowledge/c.md`, { content: 'C' });
    await work();
    expect((await repo()).mirror).toMatchObject({ lastError: null, pending: false });
  });

  test('for its token says which secret it is', async () => {
    await set();
    await work();
    expect((await repo()).mirror.lastError).toContain('check that the secret MIRROR_TOKEN may push to it');
    await store('wrong-token-0123456789');
    await hurry();
    expect((await repo()).mirror.lastError).toContain('check that the secret MIRROR_TOKEN may push to it');
    const lines = { filename: 'token', content: 'two\nlines-0123456789' };
    expect((await app.put('/api/secrets', { name: 'MIRROR_TOKEN', workspace: ws.name, file: lines })).status).toBe(200);
    await hurry();
    expect((await repo()).mirror.lastError).toBe('MIRROR_TOKEN cannot be used: store it again, as a value of one line');
    await store(TOKEN);
    await hurry();
    expect((await repo()).mirror).toMatchObject({ lastError: null, pending: false });
  });

  test('for one ref says which, and has the others', async () => {
    await store(TOKEN);
    await set();
    git(server.folder, 'config', 'receive.denyDeletes', 'true');
    const other = git(server.folder, 'commit-tree', '-m', 'Other', git(server.folder, 'write-tree'));
    git(server.folder, 'update-ref', 'refs/heads/stray', other);
    await work();
    expect((await repo()).mirror.lastError).toBe(
      `127.0.0.1:${server.port} rejected refs/heads/stray [remote rejected] (deletion prohibited)`,
    );
    expect(Object.keys(server.refs())).toEqual(['refs/heads/main', 'refs/heads/stray']);
  });

  test('with a worker that died is another’s once its lease is over, and the first says nothing any more', async () => {
    await store(TOKEN);
    await set();
    let release: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => {
      server.intercept = (request, response) => {
        if (request.headers.authorization === undefined) return false;
        server.intercept = null;
        release = () => void response.writeHead(500).end();
        resolve();
        return true;
      };
    });
    const slow = work();
    await isHeld;
    await hurry();
    expect((await repo()).mirror).toMatchObject({ lastError: null, pending: false });
    release();
    await slow;
    expect((await repo()).mirror).toMatchObject({ lastError: null, pending: false });
  });

  test('because it is told to stop has not failed, and is due at once', async () => {
    await store(TOKEN);
    await set();
    const stop = new AbortController();
    server.intercept = () => {
      stop.abort();
      return true;
    };
    await work(app.deps.net, stop.signal);
    expect((await repo()).mirror).toMatchObject({ lastError: null, pending: true });
    server.intercept = null;
    await work();
    expect((await repo()).mirror.pending).toBe(false);
  });
});

test('the account’s token is used where the workspace has none', async () => {
  expect((await app.put('/api/secrets', { name: 'MIRROR_TOKEN', value: TOKEN })).status).toBe(200);
  await set();
  await work();
  await app.delete('/api/secrets?name=MIRROR_TOKEN');
  expect((await repo()).mirror).toMatchObject({ lastError: null, pending: false });
});

test('security 18: the token is in no command line, environment, file, log, answer or row, while git runs and after', async () => {
  await store(TOKEN);
  await set();
  const seen: string[] = [];
  server.intercept = (request) => {
    if (request.headers.authorization !== undefined) seen.push(...processesAndFiles(app.deps.config.dataDir));
    return false;
  };
  await work();
  expect(seen.some((text) => text.includes('remote-http'))).toBe(true);
  server.intercept = (_request, response) => {
    response.writeHead(403, { 'content-type': 'text/plain' }).end(`remote: ${TOKEN} may not\n`);
    return true;
  };
  await act({ action: 'mirror-now' });
  await work();
  const rows = await app.deps.db.query('SELECT * FROM mirror WHERE workspace_id = $1', [ws.id]);
  const all = [
    ...seen,
    ...processesAndFiles(app.deps.config.dataDir),
    ...lines,
    JSON.stringify([rows, await repo()]),
  ].join('\n');
  expect(all).toContain('403');
  expect(all).not.toContain(TOKEN);
  expect(all).not.toContain(Buffer.from(`x-access-token:${TOKEN}`).toString('base64'));
});

/** Command lines and environments of all processes that may be looked at, and the text of each file in a folder. */
function processesAndFiles(folder: string): string[] {
  const found: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    for (const what of ['cmdline', 'environ']) {
      try {
        found.push(readFileSync(`/proc/${pid}/${what}`, 'latin1'));
      } catch {
        // It has ended, or is another user's.
      }
    }
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) found.push(readFileSync(`${entry.parentPath}/${entry.name}`, 'latin1'));
  }
  return found;
}

describe('security 21', () => {
  test.each<[string, object]>([
    ['no address', { url: 'desk.git' }],
    ['another scheme', { url: 'file:///etc' }],
    ['git’s own way to run a program', { url: 'ext::sh -c id' }],
    ['an option', { url: '--upload-pack=id' }],
    ['ssh', { url: 'git@example.com:acme/desk.git' }],
    ['ssh as an address', { url: 'ssh://example.com/acme/desk.git' }],
    ['a credential in it', { url: 'https://me:pw@example.com/acme/desk.git' }],
    ['plain http', { url: 'http://example.com/acme/desk.git', https: false }],
    ['a private address', { url: 'https://10.0.0.1/acme/desk.git' }],
    ['the cloud’s metadata', { url: 'http://169.254.169.254/latest', https: false }],
    ['no path', { url: 'https://example.com/' }],
    ['a query', { url: 'https://example.com/desk.git?x=1' }],
  ])('a mirror with %s is refused', async (_name, more) => {
    expect((await act({ action: 'mirror', ...more }))[0]).toBe(422);
    expect((await repo()).mirror).toBeNull();
  });

  test('plain http to an opened host needs to be meant', async () => {
    expect(await act({ action: 'mirror', url: server.url })).toMatchObject([
      422,
      { error: expect.stringContaining('https: false') },
    ]);
  });

  test('git connects to the address that was checked, whatever the name leads to by then', async () => {
    await store(TOKEN);
    const url = `http://mirror.test:${server.port}/desk.git`;
    const net = opened(['mirror.test']);
    await app.deps.db.query('INSERT INTO mirror (workspace_id, url, https) VALUES ($1, $2, false)', [ws.id, url]);
    await work(net);
    // No resolver of this machine knows the name: git went where it was told.
    expect((await repo()).mirror).toMatchObject({ lastError: null, pending: false });
    expect(Object.keys(server.refs())).toEqual(['refs/heads/main']);
    await act({ action: 'mirror-now' });
    await work(
      createNet({
        config: { allowHosts: [], version: '1' },
        resolve: async () => [{ address: '10.0.0.7', family: 4 }],
      }),
    );
    expect((await repo()).mirror.lastError).toContain('go over https only');
  });

  test('a redirect is not followed, and takes no token along', async () => {
    await store(TOKEN);
    await set();
    const other = await startGitServer(null);
    server.intercept = (request, response) => {
      response.writeHead(302, { location: `${other.url}${(request.url ?? '').replace('/desk.git', '')}` }).end();
      return true;
    };
    await work();
    expect((await repo()).mirror).toMatchObject({ pending: true, lastError: expect.any(String) });
    expect(other.credentials).toEqual([]);
  });
});

test('a mirror whose host is silent holds up no other, and an account has no more at once than one may', async () => {
  await store(TOKEN);
  await set();
  const quiet = ws;
  let hang: () => void = () => undefined;
  const isAsked = new Promise<void>((resolve) => {
    server.intercept = (_request, response) => {
      hang = () => void response.writeHead(500).end();
      resolve();
      return true;
    };
  });
  const at = new InFlight({ atOnce: 4, each: 1 }, () => undefined);
  expect(await beginMirrors(app.deps, at)).toBe(1);
  await isAsked;
  ws = await app.workspace();
  await set((await startGitServer(null)).url);
  expect([await beginMirrors(app.deps, at), at.busy, at.room]).toEqual([0, [app.tenant], 3]);
  const wide = new InFlight({ atOnce: 4, each: 2 }, () => undefined);
  expect(await beginMirrors(app.deps, wide)).toBe(1);
  await wide.idle();
  expect((await repo()).mirror).toMatchObject({ lastError: null, pending: false });
  hang();
  await at.idle();
  ws = quiet;
  expect((await repo()).mirror.pending).toBe(true);
});

test('a mirror that is taken away is pushed to no more', async () => {
  await store(TOKEN);
  await set();
  expect(await act({ action: 'mirror', url: null })).toEqual([200, { ok: true, mirror: null }]);
  expect(await work()).toBe(0);
  expect(server.refs()).toEqual({});
  expect((await act({ action: 'mirror-now' }))[0]).toBe(409);
});

test('a workspace without files takes nothing away from its mirror', async () => {
  await app.deps.db.query('UPDATE workspace SET live_seq = 0 WHERE id = $1', [ws.id]);
  const other = git(server.folder, 'commit-tree', '-m', 'Other', git(server.folder, 'write-tree'));
  git(server.folder, 'update-ref', 'refs/heads/main', other);
  await store(TOKEN);
  await set();
  await work();
  expect(server.refs()).toEqual({ 'refs/heads/main': other });
});

test('a workspace that is deleted takes its mirror along', async () => {
  await set();
  expect((await app.delete(`/api/workspaces/${ws.name}`)).status).toBe(200);
  expect(await app.deps.db.query('SELECT 1 FROM mirror WHERE workspace_id = $1', [ws.id])).toEqual([]);
});
