import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { bootstrapAccount, loadInstallKeys, renewBootstrapFile, writeBootstrapFile } from '../../src/people/index.js';
import { createDb, type Db } from '../../src/platform/db/index.js';
import { createTestDeps } from '../support/create-test-app.js';
import { freshDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';

let dir: string;
const ends: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'signalbox-test-'));
  ends.push(() => rm(dir, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function emptyDatabase(): Promise<Db> {
  const { url, drop } = await freshDatabase();
  ends.push(drop);
  const db = createDb({ url, ca: null, poolSize: 5, log: silentLog });
  ends.push(() => db.close());
  return db;
}

const bootstrap = { account: 'Kettle & Leaf', email: 'Ann@Kettle.test', password: null };

test('the first start makes the account, its owner and an admin key; the next finds them', async () => {
  const deps = { ...(await createTestDeps({ config: { bootstrap } })), db: await emptyDatabase() };
  const made = await bootstrapAccount(deps);
  expect(made).toEqual({
    account: 'kettle-leaf',
    email: 'ann@kettle.test',
    key: expect.stringMatching(/^sbx_/),
    password: expect.stringMatching(/^\w{24}$/),
  });
  const me = await createApp(deps).request('/api/me', { headers: { authorization: `Bearer ${made?.key}` } });
  expect(await me.json()).toMatchObject({
    account: 'kettle-leaf',
    name: 'Kettle & Leaf',
    owner: 'ann@kettle.test',
    role: 'admin',
  });
  expect(await bootstrapAccount(deps)).toBeNull();
});

test('of two first starts at once one makes the account', async () => {
  const deps = { ...(await createTestDeps({ config: { bootstrap } })), db: await emptyDatabase() };
  const made = await Promise.all([1, 2, 3].map(() => bootstrapAccount(deps)));
  expect(made.filter((each) => each !== null)).toHaveLength(1);
  expect(await deps.db.query('SELECT 1 FROM tenant')).toHaveLength(1);
  expect(await deps.db.query('SELECT 1 FROM api_key')).toHaveLength(1);
});

test('a key that could not be handed over is not made, so that the next start makes one', async () => {
  const deps = { ...(await createTestDeps({ config: { bootstrap } })), db: await emptyDatabase() };
  await expect(bootstrapAccount(deps, () => Promise.reject(new Error('disk full')))).rejects.toThrow('disk full');
  expect(await deps.db.query('SELECT 1 FROM tenant')).toHaveLength(0);
  expect(await bootstrapAccount(deps)).not.toBeNull();
});

test('bootstrap.json is its owner’s only, also where another was before, and leaves no draft', async () => {
  await writeFile(join(dir, 'bootstrap.json'), '{}', { mode: 0o644 });
  const content = { url: 'http://127.0.0.1:4747', account: 'a', email: 'e@f', key: 'sbx_x' };
  const path = await writeBootstrapFile(dir, content);
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(content);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dir)).toEqual(['bootstrap.json']);
});

test('a later start renews the address alone, and leaves a file that a hand has damaged as it is', async () => {
  const content = { url: 'http://127.0.0.1:4747', account: 'a', email: 'e@f', key: 'sbx_x', password: 'p' };
  expect(await renewBootstrapFile(dir, 'http://127.0.0.1:5000')).toBe('missing');
  const path = await writeBootstrapFile(dir, content);
  expect(await renewBootstrapFile(dir, 'http://127.0.0.1:5000')).toBe('whole');
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ ...content, url: 'http://127.0.0.1:5000' });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  for (const damaged of ['{ "url": ', '"a text"', '']) {
    await writeFile(path, damaged);
    expect(await renewBootstrapFile(dir, 'http://127.0.0.1:5000')).toBe('damaged');
    expect(await readFile(path, 'utf8')).toBe(damaged);
  }
});

test('what makes the data folder first makes it its owner’s only', async () => {
  const [keys, file] = [join(dir, 'keys'), join(dir, 'file')];
  await loadInstallKeys({ keys: null, dataDir: keys });
  await writeBootstrapFile(file, { url: 'http://127.0.0.1:4747', account: 'a', email: 'e@f', key: 'sbx_x' });
  for (const folder of [keys, file]) expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

test('the install key is made once, 0600, and found again; two first starts agree on it', async () => {
  const [one, two] = await Promise.all([1, 2].map(() => loadInstallKeys({ keys: null, dataDir: dir })));
  const again = await loadInstallKeys({ keys: null, dataDir: dir });
  expect(one?.signing).toHaveLength(32);
  expect([two, again]).toEqual([one, one]);
  expect((await stat(join(dir, 'install-keys'))).mode & 0o777).toBe(0o600);
  expect(await readdir(dir)).toEqual(['install-keys']);
});

test('a damaged install key stops the start with what to do, and is left as it is', async () => {
  const path = join(dir, 'install-keys');
  await writeFile(path, 'k1:YWJj\n');
  await expect(loadInstallKeys({ keys: null, dataDir: dir })).rejects.toThrow(/are damaged .*SERVICE_KEYS/);
  expect(await readFile(path, 'utf8')).toBe('k1:YWJj\n');
  await rm(path);
  await mkdir(path);
  await expect(loadInstallKeys({ keys: null, dataDir: dir })).rejects.toThrow(/cannot be read/);
});

test('given keys go before the file: the first signs, and all open secrets', async () => {
  const [a, b] = [new Uint8Array(randomBytes(32)), new Uint8Array(randomBytes(32))];
  const keys = await loadInstallKeys({
    keys: [
      { id: 'new', key: a },
      { id: 'old', key: b },
    ],
    dataDir: dir,
  });
  expect(keys).toMatchObject({
    signing: a,
    ring: [
      { id: 'new', key: a },
      { id: 'old', key: b },
    ],
  });
  expect(await readdir(dir)).toEqual([]);
});
