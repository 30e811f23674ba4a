import { Socket } from 'node:net';
import { Worker } from '@temporalio/worker';
import pg from 'pg';
import { expect, test } from 'vitest';
import { Limiter } from '../../src/people/accounts/limits.js';
import { SIGNS, wireOf } from '../../src/platform/db/watched-client.js';
import { shutdownAfter } from '../../src/platform/temporal/create-run-worker.js';

// Each of these parts uses what a library does not document. A new version that changes it fails here.

/** Messages of Postgres as bytes (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
const message = (type: string, body: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
};
const authentication = (kind: number, rest = Buffer.alloc(0)) => {
  const code = Buffer.alloc(4);
  code.writeInt32BE(kind);
  return message('R', Buffer.concat([code, rest]));
};
const MESSAGES: Readonly<Record<string, Buffer>> = {
  authenticationOk: authentication(0),
  authenticationCleartextPassword: authentication(3),
  authenticationMD5Password: authentication(5, Buffer.from('salt')),
  authenticationSASL: authentication(10, Buffer.from('SCRAM-SHA-256\0\0')),
  authenticationSASLContinue: authentication(11, Buffer.from('r=x')),
  readyForQuery: message('Z', Buffer.from('I')),
};

test.each(Object.entries(MESSAGES))('a client of Postgres has a wire that emits %s', async (name, bytes) => {
  const wire = wireOf(new pg.Client({ host: '127.0.0.1' })) as ReturnType<typeof wireOf> & {
    attachListeners(stream: Socket): void;
  };
  expect(SIGNS).toContain(name);
  expect(wire.stream).toBeInstanceOf(Socket);
  const emitted = new Promise((resolve) => wire.once(name, resolve));
  wire.attachListeners(wire.stream);
  wire.stream.emit('data', bytes);
  await emitted;
});

test('every sign of life but the one of TLS is a message that is read here', () => {
  expect([...SIGNS].filter((sign) => !Object.hasOwn(MESSAGES, sign))).toEqual(['sslconnect']);
});

test('a limiter blocks a key in memory, and gives it back', async () => {
  let points = 2;
  const expire = Date.now() + 60_000;
  const query = async () => ({ rows: [{ points, expire }], rowCount: 1 });
  const limiter = new Limiter({
    storeClient: { query },
    storeType: 'client',
    tableName: 'rate_limit',
    tableCreated: true,
    clearExpiredByTimeout: false,
    points: 1,
    duration: 60,
    inMemoryBlockOnConsumed: 1,
  });
  expect(limiter.blockedMs('key')).toBe(0);
  await expect(limiter.consume('key')).rejects.toMatchObject({ remainingPoints: 0 });
  expect(limiter.blockedMs('key')).toBeGreaterThan(0);
  points = 0;
  await limiter.giveBack('key');
  expect(limiter.blockedMs('key')).toBe(0);
});

test('a worker of Temporal shuts itself down by its own method, after the preparation', async () => {
  const events: string[] = [];
  const worker = Object.assign(Object.create(Worker.prototype) as Worker, {
    getState: () => 'RUNNING' as const,
    shutdown: () => void events.push('shutdown'),
  });
  const shutdown = shutdownAfter(worker, async () => void events.push('prepared'));
  await shutdown();
  expect(events).toEqual(['prepared', 'shutdown']);
  // `run` is what calls it after an unexpected error.
  expect(String(Worker.prototype.run) + String(Worker.prototype.runUntil)).toContain('this.shutdown()');
});
