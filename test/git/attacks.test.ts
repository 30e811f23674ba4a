import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import type { Deps } from '../../src/deps.js';
import { commitAll, createRemoteApp, git, type RemoteApp, readFolder, runGit } from '../support/git-remote.js';
import { noise } from '../support/noise.js';
import { bodyOf, EVAL, SMALL } from '../support/workspace-app.js';

let app: RemoteApp;
beforeAll(async () => {
  app = await createRemoteApp();
});

const NONE = '0'.repeat(40);
const line = (text: string): string => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
const EMPTY_PACK = Buffer.from('5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e', 'hex');

async function post(name: string, service: string, body: Buffer, headers: Record<string, string> = {}) {
  const authorization = `Basic ${Buffer.from(`x:${app.key}`).toString('base64')}`;
  const response = await fetch(`${app.base}/git/${app.tenant}/${name}.git/${service}`, {
    method: 'POST',
    headers: { authorization, 'content-type': `application/x-${service}-request`, ...headers },
    body: new Uint8Array(body),
  });
  return { status: response.status, text: await response.text() };
}

test('security 13: names that stand in each other’s way, pushed at once: one of them is taken, and the remote goes on', async () => {
  const { name, clone } = await app.start();
  const commit = await git(clone, 'rev-parse', 'HEAD');
  for (let round = 0; round < 2; round += 1) {
    for (const kind of ['heads', 'tags']) {
      const names = [`refs/${kind}/r${round}`, `refs/${kind}/r${round}/x`, `refs/${kind}/r${round}/x/y`];
      const said = await Promise.all(
        names.map((ref) =>
          post(
            name,
            'git-receive-pack',
            Buffer.concat([Buffer.from(`${line(`${NONE} ${commit} ${ref}\0report-status`)}0000`), EMPTY_PACK]),
          ),
        ),
      );
      expect(said.filter(({ text }) => text.includes('ok refs/'))).toHaveLength(1);
      const fetched = await runGit(clone, 'fetch', '-q', 'origin', '--tags', '--prune');
      expect([round, kind, fetched.code, fetched.err]).toEqual([round, kind, 0, '']);
    }
  }
});

test('security 13: a request to fetch that unpacks without end is cut, and so is one of endless lines to a push', async () => {
  const { name, clone } = await app.start();
  const haves = Buffer.from(line(`have ${'1'.repeat(40)}\n`).repeat(20_000));
  const want = Buffer.from(`${line(`want ${await git(clone, 'rev-parse', 'HEAD')}\n`)}0000`);
  const done = Buffer.from(line('done\n'));
  const short = await post(name, 'git-upload-pack', Buffer.concat([want, haves, done]));
  expect([short.status, short.text]).toEqual([200, expect.stringContaining('PACK')]);
  const body = Buffer.concat([want, ...Array.from({ length: 40 }, () => haves), done]);
  const fetched = await post(name, 'git-upload-pack', gzipSync(body), { 'content-encoding': 'gzip' });
  expect(fetched.text).not.toContain('PACK');
  const shallow = Buffer.from(line(`shallow ${'1'.repeat(40)}`).repeat(11_000));
  const pushed = await post(name, 'git-receive-pack', gzipSync(shallow), { 'content-encoding': 'gzip' });
  expect([pushed.status, pushed.text]).toEqual([400, expect.stringMatching(/lines/)]);
  expect((await runGit(clone, 'fetch', 'origin')).code).toBe(0);
});

test('pushes that wait for what their evals say keep nobody from pushing', async () => {
  const evals = { ...SMALL, 'evals/checks.md': EVAL.replace('trigger: manual', 'trigger: push') };
  // Evals that never end: each push is told of them when its patience does.
  const held = new AbortController();
  const whenEvalEnds = (): Promise<void> =>
    new Promise((resolve) => held.signal.addEventListener('abort', () => resolve()));
  const workflows = { whenEvalEnds, start: async () => undefined } as unknown as Deps['workflows'];
  const own = await createRemoteApp({ deps: { workflows } });
  const { clone: plain } = await own.start();
  const clones = await Promise.all(Array.from({ length: 4 }, () => own.start(evals)));
  let ended = 0;
  const waiting = await Promise.all(
    clones.map(async ({ name, clone }) => {
      const commit = await commitAll(clone);
      const child = spawn('git', ['-C', clone, 'push', 'origin', 'HEAD:main', 'HEAD:refs/heads/b'], {
        env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
        stdio: 'ignore',
      });
      child.once('exit', () => (ended += 1));
      const revision = async () => (await bodyOf(own.get(`/api/workspaces/${name}`))).revision;
      await expect.poll(revision).toBe(commit);
      const preview = async () => (await own.get(`/api/workspaces/${name}-preview-b`)).status;
      await expect.poll(preview).toBe(200);
      return child;
    }),
  );
  await commitAll(plain);
  expect((await runGit(plain, 'push', 'origin', 'main')).code).toBe(0);
  expect(ended).toBe(0);
  held.abort();
  await Promise.all(waiting.map((child) => once(child, 'exit')));
});

test('clients that ask and do not read hold their own account’s places alone, and once they are gone it has them again', async () => {
  const { name, clone } = await app.start();
  // In the history alone, so that the tree is an ordinary one: more than the sockets on the way hold.
  writeFileSync(join(clone, 'long.bin'), noise(16 * 1024 * 1024));
  await git(clone, 'config', 'core.compression', '0');
  await git(clone, 'config', 'core.bigFileThreshold', '1m');
  await commitAll(clone);
  await git(clone, 'rm', '-q', 'long.bin');
  const head = await commitAll(clone);
  expect(await runGit(clone, 'push', 'origin', 'main')).toMatchObject({ code: 0 });
  const { port } = new URL(app.base);
  const body = `${line(`want ${head}\n`)}0000${line('done\n')}`;
  const authorization = `Basic ${Buffer.from(`x:${app.key}`).toString('base64')}`;
  const sockets = Array.from({ length: 10 }, () => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `POST /git/${app.tenant}/${name}.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n` +
        `Content-Type: application/x-git-upload-pack-request\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    return socket;
  });
  // Some of them are answered, and from then on read nothing.
  await Promise.race(sockets.map((socket) => once(socket, 'readable')));

  const other = await createRemoteApp();
  const { clone: theirs } = await other.start();
  expect(readFolder(theirs)).toEqual(SMALL);
  const own = app.clone(name);
  for (const socket of sockets) socket.destroy();
  expect(readFolder(await own)).toEqual(SMALL);
});

test('security 13: a tag whose files differ in case only is refused, as a branch with them is', async () => {
  const { clone } = await app.start();
  for (const name of ['Notes.txt', 'notes.txt']) writeFileSync(join(clone, name), name);
  await commitAll(clone, 'Twins');
  for (const ref of ['refs/tags/twins', 'refs/heads/twins']) {
    const { code, err } = await runGit(clone, 'push', 'origin', `HEAD:${ref}`);
    expect([ref, code, err]).toEqual([ref, 1, expect.stringContaining('notes.txt:1:1 tree/case-twin')]);
  }
});
