import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../src/platform/config/index.js';
import { packageRoot } from '../../src/platform/db/index.js';
import { startedAt } from '../../src/platform/embedded/process-identity.js';
import { serversOf } from '../support/embedded-host.js';
import { freezePostgres } from '../support/frozen-postgres.js';
import { serverPid } from '../support/service.js';
import { createServiceHost, type Service } from '../support/service-host.js';

let host: Awaited<ReturnType<typeof createServiceHost>>;
beforeAll(async () => {
  host = await createServiceHost();
});
afterAll(() => host.close());

const JSON_BODY = { 'content-type': 'application/json' };
const TREE = { files: [{ path: 'AGENTS.md', content: '# Shop\n\nBe brief.\n' }] };

/** Status and text: a connection whose answer is read to its end is used again. */
async function ask(service: Service, path: string, body?: object): Promise<readonly [number, string]> {
  const init = body && { method: 'POST', headers: JSON_BODY, body: JSON.stringify(body) };
  const answer = await service.request(path, init);
  return [answer.status, await answer.text()];
}

/** The log's lines on standard output. */
function logOf(service: Service): readonly Readonly<Record<string, unknown>>[] {
  const lines = service.stdout().trim().split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}

test('a deploy without a file descriptor left does not end the service: what needs a program is 503 meanwhile', async () => {
  const service = await host.start(await host.usedFolder());
  expect((await ask(service, '/api/workspaces', { name: 'shop' }))[0]).toBe(201);
  const limit = (soft: string) => execFileSync('prlimit', ['--pid', String(service.pid), `--nofile=${soft}:`]);
  const before = execFileSync('prlimit', ['--pid', String(service.pid), '--nofile', '-o', 'SOFT', '--noheadings']);
  // What is open stays open, the connection of this test among it; nothing can be opened.
  limit('1');
  // A deploy may find the one program that it needs running already.
  expect([200, 503]).toContain((await ask(service, '/api/workspaces/shop/deploy', TREE))[0]);
  expect(await ask(service, '/api/workspaces/shop/repo')).toEqual([
    503,
    expect.stringContaining('no file descriptor left to start a program'),
  ]);
  limit(before.toString().trim());
  await expect.poll(async () => (await ask(service, '/api/workspaces/shop/repo'))[0]).toBe(200);
  expect((await ask(service, '/api/workspaces/shop/deploy', TREE))[0]).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
});

test('a service that is probed all the while lives on when its Temporal is killed and comes back', async () => {
  const folder = await host.usedFolder();
  const service = await host.start(folder);
  const first = await serverPid(folder, 'temporal');
  let isOver = false;
  const probing = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isOver) await ask(service, '/api/healthz');
    }),
  );
  process.kill(first, 'SIGKILL');
  await expect.poll(() => serverPid(folder, 'temporal').catch(() => first)).not.toBe(first);
  const health = async () => JSON.parse((await ask(service, '/api/healthz'))[1]);
  await expect.poll(health).toMatchObject({ ok: true, temporal: 'ok' });
  isOver = true;
  await probing;
  expect(await service.end('SIGTERM')).toBe(0);
});

/** Lets a service throw where no part of it listens, when it gets SIGUSR2. */
const PLANTED = {
  error: "setTimeout(() => { throw Object.assign(new TypeError('planted'), { cause: new Error('deep') }) })",
  rejection: "void Promise.reject(new TypeError('planted', { cause: new Error('deep') }))",
} as const;

test.each(['error', 'rejection'] as const)(
  'what no part handles (%s) is logged whole, and ends the service in order with exit code 1',
  async (kind) => {
    const folder = await host.usedFolder();
    const code = encodeURIComponent(`process.on('SIGUSR2', () => { ${PLANTED[kind]} })`);
    const service = await host.start(folder, { NODE_OPTIONS: `--import=data:text/javascript,${code}` });
    expect(await service.end('SIGUSR2')).toBe(1);
    expect(logOf(service)).toContainEqual(
      expect.objectContaining({
        level: 'error',
        msg: 'unhandled error, shutting down',
        err: expect.objectContaining({
          type: 'TypeError',
          message: expect.stringContaining('planted'),
          stack: expect.stringMatching(/planted\n\s+at [\s\S]*deep/),
        }),
      }),
    );
    expect(service.stderr()).toContain('TypeError: planted');
    expect(await serversOf(folder)).toEqual([]);
    expect(existsSync(join(folder, 'lock'))).toBe(false);
    expect(existsSync(join(folder, 'postgres/postmaster.pid'))).toBe(false);
  },
);

test('a Postgres that hangs does not hold up the end: what does not close in time is ended, and the next start is whole', async () => {
  const folder = await host.usedFolder();
  const service = await host.start(folder);
  const frozen = await freezePostgres(folder);
  onTestFinished(() => frozen.end());
  expect(await service.end('SIGTERM')).toBe(1);
  expect(logOf(service)).toContainEqual(
    expect.objectContaining({ part: 'embedded servers', msg: 'a part did not close in time and is ended' }),
  );
  await expect.poll(() => frozen.pids.filter((pid) => startedAt(pid) !== null)).toEqual([]);
  expect(await serversOf(folder)).toEqual([]);
  const next = await host.start(folder);
  expect((await ask(next, '/api/workspaces'))[0]).toBe(200);
  expect(await next.end('SIGTERM')).toBe(0);
});

test('a third signal ends it at once, and so does a second one after two seconds', async () => {
  const folders = await Promise.all([host.usedFolder(), host.usedFolder()]);
  const services = await Promise.all(folders.map((folder) => host.start(folder)));
  const [three, late] = services;
  if (!three || !late) throw new Error('two services were started');
  // It waits for its database, so that only at once is at once.
  const frozen = await Promise.all(folders.map(freezePostgres));
  onTestFinished(() => {
    for (const { end } of frozen) end();
  });
  for (const service of services) process.kill(service.pid, 'SIGINT');
  for (const service of services) await expect.poll(() => service.stderr()).toContain('Stopping');
  process.kill(three.pid, 'SIGINT');
  await sleep(2_000);
  expect(await Promise.all([three.end('SIGINT'), late.end('SIGINT')])).toEqual([130, 130]);
});

test('one Ctrl-C of npm start in a terminal, which npm forwards once more, is an orderly end', async () => {
  const folder = await host.usedFolder();
  const { PATH = '', HOME = '' } = readEnvironment();
  for (let round = 0; round < 3; round += 1) {
    // `script` gives it a terminal of its own and passes on what is typed.
    const terminal = spawn('script', ['-qefc', 'npm start', '/dev/null'], {
      cwd: packageRoot,
      env: { PATH, HOME, SERVICE_DATA_DIR: folder, SERVICE_PORT: '0' },
    });
    const ended = once(terminal, 'close');
    let shown = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
    });
    await expect.poll(() => shown).toContain('is ready at');
    terminal.stdin.write('\u0003');
    await ended;
    expect(shown).toContain('Stopping; active runs continue after the next start.');
    // Both are gone only where every part was closed.
    expect(existsSync(join(folder, 'lock'))).toBe(false);
    expect(existsSync(join(folder, 'postgres/postmaster.pid'))).toBe(false);
    expect(await serversOf(folder)).toEqual([]);
  }
});
