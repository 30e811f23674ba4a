import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { callerOf, slowDown, slowDownMs } from '../../src/people/accounts/limits.js';
import { logIn as signInAs } from '../../src/people/accounts/log-in.js';
import { changePassword } from '../../src/people/accounts/passwords.js';
import { createDb, type Db } from '../../src/platform/db/index.js';
import { newId } from '../../src/shared/ids.js';
import type { Caller } from '../../src/shared/roles.js';
import { cpuUnit, expectCpu } from '../support/cpu-cost.js';
import { createTestApp, type TestApp, type TestRequest } from '../support/create-test-app.js';
import { fillLine } from '../support/password-line.js';
import { testDatabase } from '../support/postgres.js';
import { createPerson, logIn, PASSWORD, signIn, someAddress } from '../support/sessions.js';
import { silentLog } from '../support/silent-log.js';

const WRONG = { error: 'the address or the password is wrong', code: 'bad-credentials' };
const unknown = () => `nobody-${newId()}@nowhere.test`;
const from = (address: string) => ({ headers: { 'x-forwarded-for': `6.6.6.6, ${address}` } });

test('security 25: an unknown person and a wrong password get one answer', async () => {
  const app = await createTestApp();
  const person = await createPerson(app);
  const answers = [
    await logIn(app, person.email, { password: 'not it at all' }),
    await logIn(app, unknown(), { password: 'not it at all' }),
    await logIn(app, app.owner.email, { password: 'none' }),
  ];
  for (const answer of answers) {
    expect([answer.status, await answer.json(), answer.headers.get('set-cookie')]).toEqual([401, WRONG, null]);
  }
});

test('security 25: an unknown person costs as much work as a wrong password, so as much time', async () => {
  const app = await createTestApp();
  const attempt = async (email: string) =>
    expect((await logIn(app, email, { password: 'not it at all' })).status).toBe(401);
  const someoneKnown = async () => attempt((await createPerson(app)).email);
  const nobody = () => attempt(unknown());
  // Without the decoy it is a tenth.
  await expectCpu(someoneKnown, { atMost: 3, unit: cpuUnit(nobody) });
  await expectCpu(nobody, { atMost: 3, unit: cpuUnit(someoneKnown) });
});

test('security 25: ten attempts on an account from an address, known or not, and then 429 there, the right password among them', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  for (const email of [(await createPerson(app)).email, unknown()]) {
    const address = from(someAddress());
    for (let n = 0; n < 10; n += 1)
      expect((await logIn(app, email, { password: 'wrong', ...address })).status).toBe(401);
    const limited = await logIn(app, email, address);
    const seconds = Number(limited.headers.get('retry-after'));
    expect([limited.status, seconds > 800 && seconds <= 900]).toEqual([429, true]);
    expect(await limited.json()).toEqual({
      error: 'too many attempts: try again in 15 minutes',
      code: 'rate-limited',
      retryAfter: seconds,
    });
  }
});

test('wrong passwords by strangers lock nobody out: not from another address, and not in the person’s own browser', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const person = await createPerson(app);
  const home = someAddress();
  const { cookie } = await signIn(app, person, from(home));
  // From many addresses, and from the person's own, as behind one router.
  for (let n = 0; n < 12; n += 1) expect((await guess(app, person.email, from(someAddress()))).status).toBe(401);
  for (let n = 0; n < 10; n += 1) await guess(app, person.email, from(home));
  await fillSlots(app, person.email, 0);
  expect((await logIn(app, person.email, from(home))).status).toBe(429);
  expect((await logIn(app, person.email, from(someAddress()))).status).toBe(200);
  const known = { headers: { ...from(home).headers, cookie } };
  for (let n = 0; n < 9; n += 1)
    expect((await logIn(app, person.email, { password: 'wrong', ...known })).status).toBe(401);
  expect((await logIn(app, person.email, known)).status).toBe(200);
});

test('a known device has ten guesses of its own, in sign-ins and changes of the password together', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const person = await createPerson(app);
  const [one, other] = [await signIn(app, person), await signIn(app, person)];
  // From many addresses: the session counts, not the address.
  const as = (cookie: string) => ({ headers: { ...from(someAddress()).headers, cookie } });
  const change = () => one.call('POST', '/api/auth/password', { current: 'wrong', next: 'another good password' });
  for (let n = 0; n < 5; n += 1) {
    expect((await logIn(app, person.email, { password: 'wrong', ...as(one.cookie) })).status).toBe(401);
    expect((await change()).status).toBe(403);
  }
  const limited = await logIn(app, person.email, as(one.cookie));
  expect([limited.status, Number(limited.headers.get('retry-after')) > 800]).toEqual([429, true]);
  expect((await change()).status).toBe(429);
  expect((await logIn(app, person.email, as(other.cookie))).status).toBe(200);
  expect((await logIn(app, person.email, from(someAddress()))).status).toBe(200);
});

test('a known device is one of this very person, with a session that is live', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const [person, other] = [await createPerson(app), await createPerson(app)];
  const theirs = await signIn(app, other);
  const ended = await signIn(app, person);
  await ended.call('POST', '/api/auth/logout');
  for (const cookie of [theirs.cookie, ended.cookie, 'service_session=made-up']) {
    const init = { headers: { ...from(someAddress()).headers, cookie } };
    for (let n = 0; n < 10; n += 1) await guess(app, person.email, init);
    expect((await logIn(app, person.email, init)).status).toBe(429);
  }
});

test('strangers who fail to sign in keep nobody from changing their password', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const person = await createPerson(app);
  const { call } = await signIn(app, person);
  for (let n = 0; n < 11; n += 1) await guess(app, person.email, from(someAddress()));
  await fillSlots(app, person.email, 0);
  const change = (current: string) => call('POST', '/api/auth/password', { current, next: 'another good password' });
  for (let n = 0; n < 9; n += 1) expect((await change('wrong')).status).toBe(403);
  expect((await change(PASSWORD)).status).toBe(200);
});

test('the failures of an account slow down whoever guesses on, from ten on and for four seconds at most', async () => {
  expect([0, 9, 10, 11, 12, 13, 14, 15, 1_000].map(slowDownMs)).toEqual([
    0, 0, 250, 500, 1_000, 2_000, 4_000, 4_000, 4_000,
  ]);
  const { deps } = await createTestApp();
  const waits: number[] = [];
  const wait = async (ms: number) => void waits.push(ms);
  const [subject, other] = [unknown(), unknown()];
  const forgets: (() => Promise<void>)[] = [];
  for (let n = 0; n < 12; n += 1) forgets.push(await slowDown(deps, subject, wait));
  await slowDown(deps, other, wait);
  expect(waits).toHaveLength(2);
  for (const forget of forgets) await forget();
  await slowDown(deps, subject, wait);
  expect(waits).toHaveLength(2);
});

const keyOf = (kind: 'login-slot' | 'login-pace', email: string) =>
  `${kind}:${createHash('sha256').update(email).digest('base64url')}`;
const slotKey = (email: string) => keyOf('login-slot', email);

/** A wrong password whose account has no failures yet, so that it does not wait seconds for its slot. */
async function guess(app: TestApp, email: string, init: TestRequest): Promise<Response> {
  const keys = [slotKey(email), keyOf('login-pace', email)];
  await app.deps.db.query('DELETE FROM rate_limit WHERE key = ANY($1)', [keys]);
  return logIn(app, email, { password: 'wrong', ...init });
}

/** As after many failures by strangers: ten and more are counted, and the next free slot is this far off. */
async function fillSlots({ deps }: TestApp, email: string, ms: number): Promise<void> {
  const ignore = async () => undefined;
  for (let n = 0; n < 15; n += 1) await slowDown(deps, email, ignore);
  await deps.db.query(
    'UPDATE rate_limit SET expire = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2::bigint WHERE key = $1',
    [slotKey(email), ms],
  );
}

test('guesses at once get one slot each, four seconds apart, and those beyond half a minute get 429', async () => {
  const app = await createTestApp();
  const { db } = app.deps;
  const email = unknown();
  await fillSlots(app, email, 0);
  const slot = async () =>
    Number(
      (await db.query<{ expire: bigint }>('SELECT expire FROM rate_limit WHERE key = $1', [slotKey(email)]))[0]?.expire,
    );
  const first = await slot();
  const waits: number[] = [];
  const guesses = await Promise.allSettled(
    Array.from({ length: 20 }, () => slowDown(app.deps, email, async (ms) => void waits.push(ms))),
  );
  const refused = guesses.flatMap((guess) => (guess.status === 'rejected' ? [guess.reason] : []));
  expect(waits.length).toBeGreaterThanOrEqual(7);
  expect((await slot()) - first).toBeGreaterThanOrEqual(waits.length * 4_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(30_000);
  expect(waits.length + refused.length).toBe(20);
  for (const reason of refused) expect(reason).toMatchObject({ kind: 'rate_limited' });
});

test('an account whose slots are taken answers 429, known or not, uses up no attempt, and lets a known device in', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const person = await createPerson(app);
  const { cookie } = await signIn(app, person);
  for (const email of [person.email, unknown()]) {
    await fillSlots(app, email, 600_000);
    const address = from(someAddress());
    for (let n = 0; n < 12; n += 1) {
      const limited = await logIn(app, email, address);
      const seconds = Number(limited.headers.get('retry-after'));
      expect([limited.status, seconds > 30 && seconds <= 574]).toEqual([429, true]);
    }
  }
  expect((await logIn(app, person.email, { headers: { ...from(someAddress()).headers, cookie } })).status).toBe(200);
  await app.deps.db.query('DELETE FROM rate_limit WHERE key = $1', [slotKey(person.email)]);
  expect((await logIn(app, person.email, from(someAddress()))).status).toBe(200);
});

test('security 25: ten attempts from an address, whatever hops it makes up, and then 429', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const address = someAddress();
  for (let n = 0; n < 10; n += 1)
    expect(
      (await logIn(app, unknown(), { headers: { 'x-forwarded-for': `${someAddress()}, ${address}` } })).status,
    ).toBe(401);
  expect((await logIn(app, unknown(), from(address))).status).toBe(429);
  expect((await logIn(app, unknown(), from(someAddress()))).status).toBe(401);
});

test('security 25: without a trusted proxy nobody can name an address to be counted for', async () => {
  const app = await createTestApp();
  const address = someAddress();
  for (let n = 0; n < 12; n += 1) expect((await logIn(app, unknown(), from(address))).status).toBe(401);
});

test('attempts are counted for all API processes together', async () => {
  const db = createDb({ url: testDatabase(), ca: null, poolSize: 2, log: silentLog });
  const [one, other] = [await createTestApp(), await createTestApp({ deps: { db } })];
  const email = unknown();
  const answers: number[] = [];
  for (let n = 0; n < 12; n += 1) answers.push((await logIn(n % 2 === 0 ? one : other, email)).status);
  expect(answers).toEqual([...Array(10).fill(401), 429, 429]);
  await db.close();
});

/** As the test's database, telling each statement. */
function counted(app: TestApp): { db: Db; statements: unknown[] } {
  const statements: unknown[] = [];
  const db = new Proxy(app.deps.db, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      if (name === 'query' || name === 'transaction') statements.push(name);
      return value;
    },
  });
  return { db, statements };
}

test('who is over the limit costs the database nothing, and uses up nobody else’s attempts', async () => {
  const { db, statements } = counted(await createTestApp());
  const app = await createTestApp({ deps: { db }, config: { trustProxy: true } });
  const [address, victim] = [someAddress(), unknown()];
  for (let n = 0; n < 10; n += 1) await logIn(app, unknown(), from(address));
  statements.length = 0;
  for (let n = 0; n < 200; n += 1) expect((await logIn(app, victim, from(address))).status).toBe(429);
  expect(statements).toEqual([]);
  expect((await logIn(app, victim, from(someAddress()))).status).toBe(401);
});

test('a limit is over when its time is', async () => {
  const app = await createTestApp();
  const email = unknown();
  for (let n = 0; n < 9; n += 1) await logIn(app, email);
  await app.deps.db.query('UPDATE rate_limit SET expire = expire - 900000');
  for (let n = 0; n < 9; n += 1) expect((await logIn(app, email)).status).toBe(401);
});

test('the counts of attempts say of nobody who it was', async () => {
  const app = await createTestApp();
  const email = unknown();
  await logIn(app, email);
  expect(JSON.stringify(await app.deps.db.query('SELECT key FROM rate_limit'))).not.toContain(email);
});

test.each([
  [null, null],
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s counts as %s', (address, caller) => {
  expect(callerOf(address)).toBe(caller);
});

/** The line is full once the person's row has been read: after the attempt was counted, and its slot has come. */
function crowded(app: TestApp) {
  const { db } = app.deps;
  const done: Promise<unknown>[] = [];
  const query = async (...asked: Parameters<Db['query']>) => {
    const rows = await db.query(...asked);
    const [asks] = asked;
    if ((typeof asks === 'string' ? asks : asks.text).includes('password_hash AS')) done.push((await fillLine()).done);
    return rows;
  };
  return {
    deps: { ...app.deps, db: Object.assign(Object.create(db) as Db, { query }) },
    quiet: () => Promise.all(done),
  };
}

const OVERLOADED = { kind: 'unavailable', details: { code: 'overloaded' } };

/** How many attempts are counted for these. */
async function countedFor(app: TestApp, subjects: readonly string[]): Promise<number> {
  const keys = subjects.map((subject) => `%:${createHash('sha256').update(subject).digest('base64url')}`);
  const rows = await app.deps.db.query<{ points: number }>(
    `SELECT points FROM rate_limit WHERE key LIKE ANY ($1) AND key NOT LIKE 'login-slot%'`,
    [keys],
  );
  return rows.reduce((sum, { points }) => sum + points, 0);
}

test('a password that was not tested, since the service is overloaded, is not a guess', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const person = await createPerson(app);
  await signIn(app, person);
  const { deps, quiet } = crowded(app);
  const browser = { address: someAddress(), device: null, replaces: null };
  const subjects = [`${callerOf(browser.address)} ${person.email}`, callerOf(browser.address) ?? '', person.email];
  const guess = { email: person.email, password: 'wrong' };
  await expect(signInAs(deps, guess, browser)).rejects.toMatchObject(OVERLOADED);
  expect(await countedFor(app, subjects)).toBe(0);
  await quiet();
  await expect(signInAs(app.deps, guess, browser)).rejects.toMatchObject({ kind: 'unauthenticated' });
  expect(await countedFor(app, subjects)).toBe(3);
});

test('a change of the password that is refused for overload uses up no guess of its session', async () => {
  const app = await createTestApp();
  const person = await createPerson(app);
  await signIn(app, person);
  const { deps, quiet } = crowded(app);
  const caller = { tenant: app.tenant, person, session: newId() } as unknown as Caller & { readonly session: string };
  const change = { current: 'wrong', next: 'another good password' };
  await expect(changePassword(deps, caller, change)).rejects.toMatchObject(OVERLOADED);
  expect(await countedFor(app, [caller.session])).toBe(0);
  await quiet();
  await expect(changePassword(app.deps, caller, change)).rejects.toMatchObject({ kind: 'forbidden' });
  expect(await countedFor(app, [caller.session])).toBe(1);
});
