import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDb, DatabaseUnavailable, type Db, isUniqueViolation } from '../../src/platform/db/index.js';
import { endsWithin } from '../support/in-time.js';
import { testDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';

let db: Db;
let url: string;

beforeAll(async () => {
  url = testDatabase();
  db = createDb({ url, ca: null, poolSize: 5, log: silentLog });
  await db.query('CREATE TABLE counter (id text PRIMARY KEY, value bigint NOT NULL)');
});

afterAll(() => db.close());

test('rows come as bigint, parsed JSON, Date, bytes and lists, whatever their size', async () => {
  const [row] = await db.query<Record<string, unknown>>(
    `SELECT 9007199254740993::bigint AS big, ARRAY[1, 9007199254740993]::bigint[] AS bigs, 7 AS small,
            '{"a": [1, null]}'::jsonb AS json, '2026-01-02T03:04:05.678Z'::timestamptz AS at,
            '\\x00ff'::bytea AS bytes, ARRAY['a', 'b'] AS texts, NULL::bigint AS nothing`,
  );
  expect(row).toEqual({
    big: 9007199254740993n,
    bigs: [1n, 9007199254740993n],
    small: 7,
    json: { a: [1, null] },
    at: new Date('2026-01-02T03:04:05.678Z'),
    bytes: Buffer.from([0, 255]),
    texts: ['a', 'b'],
    nothing: null,
  });
});

test('a time written by Prisma is the same moment when read by SQL, and the other way round', async () => {
  const at = new Date('2026-07-01T12:34:56.789Z');
  await db.prisma.workerSeen.create({
    data: { id: 'w', host: 'h', pid: 1, version: '1', sandbox: 'none', startedAt: at, seenAt: at },
  });
  expect(await db.query('SELECT seen_at FROM worker_seen')).toEqual([{ seen_at: at }]);
  await db.query({ text: 'UPDATE worker_seen SET started_at = $1', values: [new Date(at.getTime() + 1)] });
  const seen = await db.prisma.workerSeen.findUniqueOrThrow({ where: { id: 'w' } });
  expect(seen.startedAt.getTime()).toBe(at.getTime() + 1);
});

test('Prisma keeps bigint, JSON and lists as SQL sees them', async () => {
  const data = { id: 'r', tenantId: 't', workspaceId: 'w', flow: 'f', planId: 'p', revision: 'x', rootId: 'r' };
  await db.prisma.run.create({ data: { ...data, trigger: { by: 'api' }, spentNano: 2n ** 62n, tags: ['a'] } });
  const rows = await db.query("SELECT spent_nano, trigger, tags FROM run WHERE id = 'r'");
  expect(rows).toEqual([{ spent_nano: 2n ** 62n, trigger: { by: 'api' }, tags: ['a'] }]);
});

test('a connection lost at the commit says that nobody knows whether it took, and one lost before says only to repeat', async () => {
  await db.query(`
    CREATE TABLE fragile (id text);
    CREATE FUNCTION break_off() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON fragile DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION break_off();`);
  const at = (statement: string) => db.transaction((sql) => sql.query(statement)).catch((error: unknown) => error);
  expect(await at("INSERT INTO fragile VALUES ('a')")).toMatchObject({
    kind: 'unavailable',
    details: { code: 'outcome-unknown', retryAfter: 2 },
  });
  expect(await at('SELECT pg_terminate_backend(pg_backend_pid())')).toMatchObject({
    kind: 'unavailable',
    details: { retryAfter: 2 },
  });
  const before = await at('SELECT pg_terminate_backend(pg_backend_pid())');
  expect(before instanceof DatabaseUnavailable && 'code' in before.details).toBe(false);
});

test('a transaction that throws leaves nothing, and its connection goes back to the pool', async () => {
  for (let i = 0; i < 20; i += 1) {
    const failing = db.transaction(async (sql) => {
      await sql.query("INSERT INTO counter VALUES ('gone', 1)");
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
  }
  expect(await db.query("SELECT 1 FROM counter WHERE id = 'gone'")).toEqual([]);
});

test('a unique violation is told as one', async () => {
  const twice = db.query("INSERT INTO counter VALUES ('same', 1), ('same', 2)");
  await expect(twice).rejects.toSatisfy(isUniqueViolation);
});

test('Prisma tells of a unique violation as SQL does', async () => {
  await db.prisma.reservedAccount.create({ data: { id: 'same' } });
  const twice = db.prisma.reservedAccount.create({ data: { id: 'same' } });
  await expect(twice).rejects.toSatisfy(isUniqueViolation);
});

describe('a text that Postgres cannot store is refused, with SQL as with Prisma', () => {
  const json = { id: 'bad', tenantId: 't', workspaceId: 'w', flow: 'f', planId: 'p', revision: 'x', rootId: 'bad' };
  const writes: Readonly<Record<string, () => Promise<unknown>>> = {
    'NUL in SQL': () => db.query('SELECT $1::text', ['a\0b']),
    'NUL in a transaction': () => db.transaction((sql) => sql.query('SELECT $1::text', ['a\0b'])),
    'NUL in JSON in SQL': () => db.query('SELECT $1::jsonb', [JSON.stringify({ a: '\0' })]),
    'half a surrogate pair in SQL': () => db.query('SELECT $1::jsonb', [JSON.stringify({ a: '\ud800' })]),
    'NUL in a filter of Prisma': () => db.prisma.member.findFirst({ where: { id: 'a\0b' } }),
    'NUL in a row of Prisma': () => db.prisma.run.create({ data: { ...json, flow: 'a\0b', trigger: {} } }),
    'NUL in JSON of Prisma': () => db.prisma.run.create({ data: { ...json, trigger: { a: '\0' } } }),
    'half a surrogate pair in Prisma': () => db.prisma.run.create({ data: { ...json, trigger: { a: '\ud800' } } }),
  };
  test.each(Object.entries(writes))('%s', async (_name, write) => {
    await expect(write()).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('cannot be stored'),
    });
  });

  test('a refused filter of Prisma does not refuse a query of the same tick', async () => {
    const ids = ['missing', 'a\0b'];
    const found = await Promise.allSettled(ids.map((id) => db.prisma.member.findFirst({ where: { id } }).then()));
    expect(found.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  test('what is no JSON at all is a fault of the service', async () => {
    await expect(db.query('SELECT $1::jsonb', ['{'])).rejects.toMatchObject({ code: '22P02' });
  });
});

test('transactions that deadlock all complete, each exactly once', async () => {
  await db.query("INSERT INTO counter VALUES ('a', 0), ('b', 0)");
  const add = (first: string, second: string) =>
    db.transaction(async (sql) => {
      for (const id of [first, second]) {
        await sql.query('UPDATE counter SET value = value + 1 WHERE id = $1', [id]);
        await sql.query('SELECT pg_sleep(0.05)');
      }
    });
  await Promise.all([add('a', 'b'), add('b', 'a')]);
  expect(await db.query("SELECT value FROM counter WHERE id IN ('a', 'b')")).toEqual([{ value: 2n }, { value: 2n }]);
});

test('an error that is no contention runs its transaction once', async () => {
  let runs = 0;
  const failing = db.transaction(async (sql) => {
    runs += 1;
    await sql.query('SELECT 1 / 0');
  });
  await expect(failing).rejects.toThrow('division by zero');
  expect(runs).toBe(1);
});

test('notifications reach every listener of a channel, and none after it stopped', async () => {
  const [first, second]: string[][] = [[], []];
  const stop = db.listen('news', (payload) => first?.push(payload));
  db.listen('news', (payload) => second?.push(payload));
  await sendUntil('news', 'one', () => (first?.length ?? 0) > 0);
  stop();
  const before = first?.length;
  await sendUntil('news', 'two', () => second?.includes('two') ?? false);
  expect(first?.length).toBe(before);
});

test('a killed server connection crashes nothing: queries go on and listeners hear again', async () => {
  const heard: string[] = [];
  db.listen('after-kill', (payload) => heard.push(payload));
  await sendUntil('after-kill', 'before', () => heard.includes('before'));
  await killConnections(url);
  await expect.poll(() => db.ping()).toBe(true);
  await sendUntil('after-kill', 'after', () => heard.includes('after'));
  expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a connection lost in a transaction is told as unavailable', async () => {
  const lost = db.transaction(async (sql) => {
    await killConnections(url);
    await sql.query('SELECT 1');
  });
  await expect(lost).rejects.toBeInstanceOf(DatabaseUnavailable);
  await expect.poll(() => db.ping()).toBe(true);
});

test('security 1: a Postgres that is down, or that never answers, gives an error within 2 s', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const address = silent.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  for (const dead of [`postgresql://a:b@127.0.0.1:${port}/x`, 'postgresql://a:b@127.0.0.1:1/x']) {
    const away = createDb({ url: dead, ca: null, poolSize: 2, log: silentLog });
    const query = away.query('SELECT 1');
    expect(await endsWithin(2_000, query)).toBe(true);
    await expect(query).rejects.toMatchObject({ kind: 'unavailable', details: { retryAfter: 2 } });
    const found = away.prisma.tenant.findFirst().then();
    expect(await endsWithin(2_000, found)).toBe(true);
    await expect(found).rejects.toBeInstanceOf(DatabaseUnavailable);
    const ping = away.ping();
    expect(await endsWithin(2_000, ping)).toBe(true);
    expect(await ping).toBe(false);
    await away.close();
  }
  silent.close();
});

test('a busy pool makes callers wait their turn instead of calling the database dead', async () => {
  const small = createDb({ url: testDatabase(), ca: null, poolSize: 1, log: silentLog });
  const slow = Array.from({ length: 4 }, () => small.query('SELECT pg_sleep(0.6)'));
  await expect(Promise.all(slow)).resolves.toHaveLength(4);
  await small.close();
});

test('a living database that is slow to take new connections is waited for, and one that falls silent is not', async () => {
  const door = await startDoor(new URL(testDatabase()));
  const through = createDb({ url: door.url, ca: null, poolSize: 6, log: silentLog });
  await through.query('SELECT 1');
  // Longer than a connect may take of a database that says nothing.
  door.holdMs = 2_600;
  const beat = setInterval(() => void through.query('SELECT 1').catch(() => undefined), 50);
  const began = performance.now();
  await expect(
    Promise.all(Array.from({ length: 5 }, () => through.query('SELECT pg_sleep(0.3)'))),
  ).resolves.toHaveLength(5);
  expect(performance.now() - began, 'otherwise nobody had to wait for a connection').toBeGreaterThan(2_000);
  clearInterval(beat);
  door.holdMs = 60_000;
  door.cut();
  await expect
    .poll(() =>
      through.query('SELECT 1').then(
        () => null,
        (error: unknown) => error,
      ),
    )
    .toBeInstanceOf(DatabaseUnavailable);
  const unheard = through.query('SELECT 1');
  expect(await endsWithin(2_000, unheard)).toBe(true);
  await expect(unheard).rejects.toBeInstanceOf(DatabaseUnavailable);
  await through.close();
  await door.close();
});

test('a process that is busy itself calls no living database dead', async () => {
  const cold = createDb({ url: testDatabase(), ca: null, poolSize: 5, log: silentLog });
  const answers = Promise.all(Array.from({ length: 10 }, () => cold.query<{ one: number }>('SELECT 1 AS one')));
  const began = performance.now();
  // Between two looks at its sockets this process does other things for most of a second, as a cold start does.
  const work = () => {
    const end = performance.now() + 800;
    while (performance.now() < end) JSON.parse('[]');
    if (performance.now() - began < 4_000) setTimeout(work, 0);
  };
  work();
  await expect(answers).resolves.toHaveLength(10);
  await cold.close();
});

test('Prisma and SQL say unavailable alike when a connection breaks under a query, and find the database again', async () => {
  const direct = testDatabase();
  const door = await startDoor(new URL(direct));
  const through = createDb({ url: door.url, ca: null, poolSize: 4, log: silentLog });
  for (const breakOff of [
    door.cut,
    () => db.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${WAITS}`),
  ]) {
    const holder = await lockedTenants(direct);
    const sent = [through.query('SELECT id FROM tenant LIMIT 1 FOR SHARE'), through.prisma.tenant.findFirst().then()];
    const outcomes = sent.map((each) =>
      each.then(
        () => null,
        (error: unknown) => error,
      ),
    );
    await expect.poll(waiting).toBe(2);
    await breakOff();
    for (const outcome of outcomes) expect(await outcome).toBeInstanceOf(DatabaseUnavailable);
    await holder.end();
    await expect.poll(() => through.ping()).toBe(true);
    expect(await through.prisma.tenant.findFirst()).toBeNull();
    expect(await through.query('SELECT id FROM tenant LIMIT 1')).toEqual([]);
  }
  await through.close();
  await door.close();
});

test('Prisma says overloaded like SQL when every connection is in use for longer than a caller waits', async () => {
  const small = createDb({ url: testDatabase(), ca: null, poolSize: 2, queueTimeoutMs: 200, log: silentLog });
  const holder = await lockedTenants(testDatabase());
  const blocked = [1, 2].map(() => small.query('SELECT id FROM tenant'));
  await expect.poll(waiting).toBe(2);
  const late = [small.query('SELECT 1'), small.prisma.tenant.findFirst().then()];
  const overloaded = { kind: 'unavailable', details: { code: 'overloaded' } };
  for (const each of late) await expect(each).rejects.toMatchObject(overloaded);
  await holder.end();
  await Promise.all(blocked);
  await small.close();
});

/** A connection whose lock lets no other one read the table `tenant`. */
async function lockedTenants(target: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: target });
  await client.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE tenant IN ACCESS EXCLUSIVE MODE');
  return client;
}

const WAITS = 'datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0';

async function waiting(): Promise<number> {
  return (await db.query(`SELECT 1 FROM pg_stat_activity WHERE ${WAITS}`)).length;
}

/** Stands before the database, and lets each new connection wait. */
async function startDoor(target: URL) {
  const open = new Set<Socket>();
  const door = { holdMs: 0 };
  const server = createServer((client) => {
    open.add(client);
    client.on('error', () => undefined);
    client.pause();
    const timer = setTimeout(() => {
      const upstream = connect(Number(target.port), target.hostname);
      upstream.on('error', () => client.destroy());
      client.on('close', () => upstream.destroy());
      client.pipe(upstream).pipe(client);
    }, door.holdMs);
    client.on('close', () => clearTimeout(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return Object.assign(door, {
    url: url.href,
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(resolve));
    },
  });
}

async function sendUntil(channel: string, payload: string, done: () => boolean): Promise<void> {
  await expect
    .poll(async () => {
      await db.notify(channel, payload);
      return done();
    })
    .toBe(true);
}

async function killConnections(target: string): Promise<void> {
  const client = new pg.Client({ connectionString: target });
  await client.connect();
  await client.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await client.end();
}
