import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { isZombie } from '../../src/platform/embedded/process-identity.js';
import { createHost, type HostProcess, serversOf } from '../support/embedded-host.js';
import { serverPid } from '../support/service.js';

let host: Awaited<ReturnType<typeof createHost>>;
beforeAll(async () => {
  host = await createHost();
});
afterAll(() => host.close());

test('what was stored is there after a clean end and after a kill -9, and a clean end leaves no process', async () => {
  const folder = await host.usedFolder();
  const first = await host.start(folder);
  await store(first, 'one');
  expect(await first.end('SIGTERM')).toBe(0);
  expect(await serversOf(folder)).toEqual([]);
  expect(existsSync(join(folder, 'lock'))).toBe(false);

  const second = await host.start(folder);
  await store(second, 'two');
  await second.end('SIGKILL');
  expect(await serversOf(folder)).not.toEqual([]);

  const third = await host.start(folder);
  expect(third.stderr()).toContain('Ended what the last start left behind: postgres and temporal.');
  expect(await stored(third)).toEqual({ rows: ['one', 'two'], workflows: ['RUNNING', 'RUNNING'] });
  expect(await third.end('SIGTERM')).toBe(0);
  expect(await serversOf(folder)).toEqual([]);
});

test('a second instance on the folder is told who runs and where, and the first goes on', async () => {
  const folder = await host.usedFolder();
  const first = await host.start(folder, { env: { SERVICE_PORT: '4999' } });
  await expect(host.start(folder)).rejects.toThrow(
    new RegExp(
      `^StartError: Signalbox already runs on this data folder \\(pid ${first.pid}, http://127\\.0\\.0\\.1:4999\\)`,
    ),
  );
  await store(first, 'still here');
  await first.end('SIGTERM');
});

test('a Postgres or a Temporal that dies comes back on its port', async () => {
  const folder = await host.usedFolder();
  const service = await host.start(folder);
  await store(service, 'before');
  const recorded = JSON.parse(await readFile(join(folder, 'processes.json'), 'utf8'));
  process.kill(recorded.postgres.pid, 'SIGKILL');
  process.kill(recorded.temporal.pid, 'SIGKILL');
  const now = () => stored(service).catch((error: Error) => error.message);
  await expect.poll(now, { interval: 200 }).toEqual({ rows: ['before'], workflows: ['RUNNING'] });
  expect(service.stderr()).toContain('postgres ended by itself and is started again');
  expect(service.stderr()).toContain('temporal ended by itself and is started again');
  expect(await service.end('SIGTERM')).toBe(0);
  expect(await serversOf(folder)).toEqual([]);
});

test('the database keeps its word over a power cut, and only its owner can read its password', async () => {
  const folder = await host.folder();
  const service = await host.start(folder);
  const settings = await onDatabase(
    service,
    "SELECT name || '=' || setting AS value FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'listen_addresses') ORDER BY 1",
  );
  expect(settings).toEqual(['fsync=on', 'listen_addresses=127.0.0.1', 'synchronous_commit=on']);
  expect((await stat(join(folder, 'postgres-password'))).mode & 0o777).toBe(0o600);
  const wrong = new URL(service.databaseUrl);
  wrong.password = 'guess';
  const intruder = new pg.Client({ connectionString: wrong.href });
  await expect(intruder.connect()).rejects.toThrow('password authentication failed');
  await service.end('SIGTERM');
});

test("Temporal runs with temporal-dev.yaml's namespace and retention", async () => {
  const service = await host.start(await host.usedFolder());
  const connection = await Connection.connect({ address: service.temporal.address });
  const { config } = await connection.workflowService.describeNamespace({ namespace: 'signalbox' });
  expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(72 * 3_600);
  await connection.close();
  await service.end('SIGTERM');
});

async function store(service: HostProcess, value: string): Promise<void> {
  await onDatabase(service, 'CREATE TABLE IF NOT EXISTS kept (value text)');
  await onDatabase(service, `INSERT INTO kept VALUES ('${value}')`);
  await withTemporal(service, (client) =>
    client.workflow.start('kept', { workflowId: value, taskQueue: 'nobody', args: [] }),
  );
}

async function stored(service: HostProcess): Promise<{ rows: string[]; workflows: string[] }> {
  const rows = await onDatabase(service, 'SELECT value FROM kept ORDER BY value');
  const workflows: string[] = [];
  for (const id of rows) {
    workflows.push(
      await withTemporal(service, async (client) => (await client.workflow.getHandle(id).describe()).status.name),
    );
  }
  return { rows, workflows };
}

async function onDatabase({ databaseUrl }: HostProcess, statement: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<{ value: string }>(statement)).rows.map((row) => row.value);
  } finally {
    await client.end();
  }
}

async function withTemporal<T>({ temporal }: HostProcess, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: temporal.address, connectTimeout: 2_000 });
  try {
    return await work(new Client({ connection, namespace: temporal.namespace }));
  } finally {
    await connection.close();
  }
}

test('a copy of a folder that is in use starts beside the original, and neither ends or finds the other’s servers', async () => {
  const folder = await host.usedFolder();
  const original = await host.start(folder);
  await store(original, 'original');
  const copied = await host.folder();
  await onDatabase(original, 'CHECKPOINT');
  await promisify(execFile)('cp', ['-a', `${folder}/.`, copied]);
  const copy = await host.start(copied);
  expect(copy.stderr()).not.toContain('left behind');
  await store(copy, 'copy');
  expect(await stored(original)).toEqual({ rows: ['original'], workflows: ['RUNNING'] });
  expect((await stored(copy)).rows).toEqual(['copy', 'original']);
  await expect(host.start(copied)).rejects.toThrow(`already runs on this data folder (pid ${copy.pid},`);

  // The same for what is killed: the next start ends its own servers alone.
  await copy.end('SIGKILL');
  const again = await host.start(copied);
  expect(again.stderr()).toContain('Ended what the last start left behind: postgres and temporal.');
  expect(await stored(original)).toEqual({ rows: ['original'], workflows: ['RUNNING'] });
  expect(await again.end('SIGTERM')).toBe(0);
  expect(await stored(original)).toEqual({ rows: ['original'], workflows: ['RUNNING'] });
  expect(await original.end('SIGTERM')).toBe(0);
});

test('a Postgres that has ended, and that its parent does not collect, does not keep the next one from starting', async () => {
  const folder = await host.usedFolder();
  const first = await host.start(folder);
  await store(first, 'kept');
  await first.end('SIGKILL');
  const file = join(folder, 'postgres/postmaster.pid');
  // One user's Postgres sees the processes of that user.
  const { uid, gid } = await stat(file);
  const childOfSleep = 'exec 3<&0; read -r line <&3 & echo $!; exec sleep 600';
  const parent = spawn('/bin/bash', ['-c', childOfSleep], { cwd: '/', uid, gid });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [zombie] = await once(createInterface(parent.stdout), 'line');
  // A shell would collect it; the child ends once its parent is a `sleep`, which does not.
  await expect.poll(() => readFile(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n');
  parent.stdin.write('\n');
  await expect.poll(() => isZombie(Number(zombie))).toBe(true);
  process.kill(await serverPid(folder, 'postgres'), 'SIGKILL');
  const [, ...others] = (await readFile(file, 'utf8')).split('\n');
  await writeFile(file, [zombie, ...others].join('\n'));
  const next = await host.start(folder);
  expect((await stored(next)).rows).toEqual(['kept']);
  expect(await next.end('SIGTERM')).toBe(0);
});

test('a lock file of Postgres whose pid is another process by now does not keep the next one from starting', async () => {
  const folder = await host.folder();
  const first = await host.start(folder);
  await store(first, 'kept');
  await first.end('SIGKILL');
  process.kill(await serverPid(folder, 'postgres'), 'SIGKILL');
  const data = join(folder, 'postgres');
  const file = join(data, 'postmaster.pid');
  // One user's Postgres sees the processes of that user.
  const { uid, gid } = await stat(file);
  const [, ...others] = (await readFile(file, 'utf8')).split('\n');
  const sleeper = async (cwd: string) => {
    const child = spawn('/bin/sleep', ['600'], { cwd, uid, gid });
    onTestFinished(() => void child.kill('SIGKILL'));
    await expect.poll(() => readFile(`/proc/${child.pid}/comm`, 'utf8')).toBe('sleep\n');
    await writeFile(file, [child.pid, ...others].join('\n'));
    return child;
  };
  // A process that works in the data folder may be its Postgres: it is left alone.
  const possible = await sleeper(data);
  await expect(host.start(folder)).rejects.toThrow(/Another Postgres still uses/);
  possible.kill('SIGKILL');
  await once(possible, 'exit');

  await sleeper('/');
  const next = await host.start(folder);
  expect((await stored(next)).rows).toEqual(['kept']);
  expect(await next.end('SIGTERM')).toBe(0);
});
