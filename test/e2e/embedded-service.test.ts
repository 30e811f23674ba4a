import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { freePort } from '../../src/platform/embedded/free-port.js';
import { serversOf } from '../support/embedded-host.js';
import { freshDatabase } from '../support/postgres.js';
import { createServiceHost } from '../support/service-host.js';
import { startTestTemporal } from '../support/temporal-server.js';

let host: Awaited<ReturnType<typeof createServiceHost>>;
beforeAll(async () => {
  host = await createServiceHost();
});
afterAll(() => host.close());

test('a first start makes the account, its key and an owner who can sign in, and prints no secret; a later one, on another port, tells the new address', async () => {
  const folder = await host.folder();
  const first = await host.start(folder);
  const bootstrap = JSON.parse(await readFile(join(folder, 'bootstrap.json'), 'utf8'));
  expect(bootstrap).toMatchObject({ url: first.url, account: 'main', email: 'owner@localhost' });
  expect((await stat(join(folder, 'bootstrap.json'))).mode & 0o777).toBe(0o600);
  expect((await first.request('/api/workspaces')).status).toBe(200);
  expect(await (await first.request('/api/healthz')).json()).toMatchObject({
    ok: true,
    workerAlive: true,
    database: 'ok',
    temporal: 'ok',
  });
  const { email, password } = bootstrap;
  const login = await fetch(`${first.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  expect([login.status, await login.json()]).toMatchObject([200, { account: 'main', role: 'owner' }]);
  for (const secret of [
    bootstrap.key,
    password,
    /service_session=(\w+)/.exec(login.headers.get('set-cookie') ?? '')?.[1],
  ])
    expect(first.stderr() + first.stdout()).not.toContain(secret);
  expect(await first.end('SIGTERM')).toBe(0);
  expect(await serversOf(folder)).toEqual([]);

  const second = await host.start(folder);
  const renewed = JSON.parse(await readFile(join(folder, 'bootstrap.json'), 'utf8'));
  expect(renewed).toEqual({ ...bootstrap, url: second.url });
  expect((await second.request('/api/workspaces')).status).toBe(200);
  await second.end('SIGINT');
});

test('a terminal that hangs up ends it whole, its files are nobody else’s, and a damaged bootstrap.json stops no start', async () => {
  const folder = await host.usedFolder();
  const first = await host.start(folder);
  for (const name of ['temporal.sqlite', 'temporal.sqlite-wal']) {
    expect([name, (await stat(join(folder, name))).mode & 0o077]).toEqual([name, 0]);
  }
  expect(await first.end('SIGHUP')).toBe(0);
  expect(await serversOf(folder)).toEqual([]);

  await writeFile(join(folder, 'bootstrap.json'), '{ "url": ');
  const second = await host.start(folder);
  expect(second.stderr()).toContain(`${join(folder, 'bootstrap.json')} is damaged`);
  expect(await second.end('SIGTERM')).toBe(0);
});

test('a service that was killed starts again, and its orphans are gone when it ends', async () => {
  const folder = await host.usedFolder();
  await (await host.start(folder)).end('SIGKILL');
  const again = await host.start(folder);
  expect((await again.request('/api/healthz')).status).toBe(200);
  expect(await again.end('SIGTERM')).toBe(0);
  expect(await serversOf(folder)).toEqual([]);
});

test('a second signal that comes with the first, as npm sends it, leaves its end an orderly one', async () => {
  const folder = await host.usedFolder();
  const service = await host.start(folder);
  const ended = service.end('SIGINT');
  await expect.poll(() => service.stderr(), { interval: 5 }).toContain('Stopping');
  process.kill(service.pid, 'SIGINT');
  expect(await ended).toBe(0);
  expect(await serversOf(folder)).toEqual([]);
});

test('an interrupted start leaves no process and no lock that sticks', async () => {
  const folder = await host.folder();
  const starting = host.start(folder, { SERVICE_LOG_LEVEL: 'silent' });
  const outcome = starting.catch((error: Error) => error.message);
  await expect.poll(() => serversOf(folder), { interval: 20 }).not.toEqual([]);
  const lock = JSON.parse(await readFile(join(folder, 'lock'), 'utf8'));
  process.kill(lock.pid, 'SIGTERM');
  expect(await outcome).toMatch(/^exit 143/);
  await expect.poll(() => serversOf(folder)).toEqual([]);
  const next = await host.start(folder);
  expect(await next.end('SIGTERM')).toBe(0);
});

test('a port that is taken is a sentence and exit code 1, and leaves no process', async () => {
  const folder = await host.usedFolder();
  const blocker = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => blocker.once('listening', resolve));
  const address = blocker.address();
  const port = typeof address === 'object' && address ? String(address.port) : '';
  await expect(host.start(folder, { SERVICE_PORT: port })).rejects.toThrow(
    new RegExp(
      `^exit 1: [\\s\\S]*port ${port} on 127.0.0.1 is in use: stop the program that listens there, or set SERVICE_PORT`,
    ),
  );
  expect(await serversOf(folder)).toEqual([]);
  blocker.close();
});

test('bad settings are named all at once, and nothing is started', async () => {
  const folder = await host.folder();
  const start = host.start(folder, { SERVICE_PORT: 'x', SERVICE_ROLE: 'boss', SERVICE_LOG_LEVEL: 'loud' });
  await expect(start).rejects.toThrow(/^exit 1: [\s\S]*SERVICE_ROLE[\s\S]*SERVICE_PORT[\s\S]*SERVICE_LOG_LEVEL/);
  await expect(stat(join(folder, 'postgres'))).rejects.toThrow();
});

test('a database that does not answer is a sentence that names it', async () => {
  const env = { DATABASE_URL: 'postgresql://u:secret@127.0.0.1:1/x', TEMPORAL_ADDRESS: inject('temporalAddress') };
  const failed = await host.start(await host.folder(), env).catch((error: Error) => error.message);
  expect(failed).toContain('exit 1: The database at 127.0.0.1:1 does not answer');
  expect(failed).toContain('correct DATABASE_URL.');
  expect(failed).not.toContain('secret');
});

test('a database that refuses us, and a certificate that is not there, are sentences too', async () => {
  const { url, drop } = await freshDatabase();
  const wrong = new URL(url);
  wrong.pathname = '/not-there';
  const env = { DATABASE_URL: wrong.href, TEMPORAL_ADDRESS: inject('temporalAddress') };
  const failures = await Promise.all(
    [env, { ...env, DATABASE_CA: '/nowhere/ca.pem' }].map(async (each) =>
      host.start(await host.folder(), each).catch((error: Error) => error.message),
    ),
  );
  expect(failures).toEqual([
    `exit 1: The database at ${wrong.host} cannot be used (database "not-there" does not exist): fix that, or correct DATABASE_URL.`,
    expect.stringMatching(/^exit 1: \/nowhere\/ca\.pem cannot be read \(.*\): correct DATABASE_CA\.$/),
  ]);
  await drop();
});

test('a Temporal that takes the connection and never answers does not hold up the end', async () => {
  const { url, drop } = await freshDatabase();
  const mute = createServer(() => undefined).listen(0, '127.0.0.1');
  await new Promise((resolve) => mute.once('listening', resolve));
  const address = mute.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const service = await host.start(await host.folder(), {
    DATABASE_URL: url,
    TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
  });
  // It never will, so whoever waited for it would wait for good.
  expect(await service.end('SIGTERM')).toBe(0);
  mute.close();
  await drop();
});

test('an API and a worker share one database and one Temporal, and start nothing of their own', async () => {
  const { url, drop } = await freshDatabase('template0');
  const env = { DATABASE_URL: url, TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: 'signalbox' };
  const folder = await host.folder();
  const services = [{ SERVICE_ROLE: 'api' }, { SERVICE_ROLE: 'worker', TEMPORAL_TASK_QUEUE: 'signalbox' }];
  const [api, worker] = await Promise.all(services.map((role) => host.start(folder, { ...env, ...role })));
  const health = async () => (await api?.request('/api/healthz'))?.json();
  await expect.poll(health).toMatchObject({ ok: true, role: 'api', workerAlive: true });
  expect(worker?.stderr()).toContain(`SERVICE_KEYS is not set, so the install key is that of ${folder}`);
  expect(await serversOf(folder)).toEqual([]);
  // Temporal's worker is native code, and a large part of what a start loads.
  const loadsWorker = async ({ pid = 0 } = {}) => (await readFile(`/proc/${pid}/maps`, 'utf8')).includes('core-bridge');
  expect([await loadsWorker(api), await loadsWorker(worker)]).toEqual([false, true]);
  expect(await worker?.end('SIGTERM')).toBe(0);
  await expect.poll(health).toMatchObject({ workerAlive: false });
  await api?.end('SIGTERM');
  await drop();
});

test('a Temporal that is down keeps nobody from starting, and the worker comes when it is up', async () => {
  const { url, drop } = await freshDatabase();
  const port = await freePort();
  const env = { DATABASE_URL: url, TEMPORAL_ADDRESS: `127.0.0.1:${port}`, TEMPORAL_NAMESPACE: 'signalbox' };
  const service = await host.start(await host.folder(), { ...env, SERVICE_LOG_LEVEL: 'info' });
  const health = async () => (await service.request('/api/healthz')).json();
  expect(service.stderr()).toContain(`Temporal at 127.0.0.1:${port} does not answer yet`);
  expect(await health()).toMatchObject({ ok: false, database: 'ok', temporal: 'down' });

  const temporal = await startTestTemporal(await host.folder(), port);
  await expect.poll(health).toMatchObject({ ok: true, temporal: 'ok' });
  await expect.poll(() => pollers(port)).toBeGreaterThan(0);
  expect(await service.end('SIGTERM')).toBe(0);
  await temporal.stop();
  await drop();
});

async function pollers(port: number): Promise<number> {
  const connection = await Connection.connect({ address: `127.0.0.1:${port}` });
  const taskQueue = { name: 'signalbox' };
  const found = await connection.workflowService.describeTaskQueue({
    namespace: 'signalbox',
    taskQueue,
    taskQueueType: 1,
  });
  await connection.close();
  return found.pollers.length;
}
