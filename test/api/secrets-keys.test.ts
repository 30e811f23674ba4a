import { randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { InstallKeys } from '../../src/platform/config/index.js';
import type { Db } from '../../src/platform/db/index.js';
import { auditSecrets, clientPlace, open, openSecret, rotateKeys, seal, writeSecret } from '../../src/secrets/index.js';
import { newId } from '../../src/shared/ids.js';
import { createTenant } from '../support/create-test-app.js';
import { testDb } from '../support/test-db.js';

let db: Db;
let tenant: string;

beforeAll(async () => {
  db = testDb();
  ({ tenant } = await createTenant({ db }));
});
/** The keys are the whole database's, and so are its secrets: each test has its own. */
beforeEach(async () => {
  await db.query('DELETE FROM secret');
});

const key = (id: string) => ({ id, key: new Uint8Array(randomBytes(32)) });
const [k1, k2, k3] = [key('k1'), key('k2'), key('k3')];

function ring(first: ReturnType<typeof key>, ...others: ReturnType<typeof key>[]): InstallKeys {
  const all = [first, ...others];
  return { signing: first.key, ring: all };
}

const put = (keys: InstallKeys, name: string, text: string) =>
  db.transaction((tx) =>
    writeSecret(tx, keys, { tenant, workspace: null, name, value: { shape: 'value', value: text } }),
  );
/** S0, S1, … */
const putMany = (keys: InstallKeys, count: number) =>
  db.transaction(async (tx) => {
    for (let n = 0; n < count; n += 1) {
      const value = { shape: 'value', value: `value-number-${n}` } as const;
      await writeSecret(tx, keys, { tenant, workspace: null, name: `S${n}`, value });
    }
  });
const read = (keys: InstallKeys, name: string) => openSecret(db, keys, { tenant, workspace: null, name });

test('security 18: a rotation wraps every secret under the first key, while others read and write; then the old one may go', async () => {
  const old = ring(k1);
  await putMany(old, 450);
  const both = ring(k2, k1);
  // What goes on meanwhile: reads with either key, and new values, which the new first key wraps.
  const meanwhile = Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      expect(await read(both, `S${n}`)).toMatchObject({ value: `value-number-${n}` });
      await put(both, `S${400 + (n % 50)}`, `changed-number-${n}`);
    }),
  );
  const batches: number[] = [];
  const rotation = await rotateKeys(db, both, (done) => batches.push(done));
  await meanwhile;
  expect(rotation.stuck).toEqual([]);
  expect([...rotation.byKey]).toEqual([['k2', 450]]);
  expect(batches.length, 'each batch is committed by itself').toBeGreaterThanOrEqual(2);
  const now = ring(k2);
  for (let n = 0; n < 400; n += 1)
    expect(await read(now, `S${n}`)).toMatchObject({ value: `value-number-${n}`, version: 1 });
  await expect(read(old, 'S0')).rejects.toThrow('wrapped under the install key "k2", which is not there');
  expect(await rotateKeys(db, now)).toMatchObject({ rewrapped: 0, stuck: [] });
});

test('security 18: a rotation takes the secrets of OAuth clients along', async () => {
  const id = newId();
  const { keyId, wrappedKey, sealed } = seal(ring(k1), clientPlace({ tenant, id }), 'client-secret');
  await db.query(
    `INSERT INTO oauth_client (id, tenant_id, name, client, config, key_id, wrapped_key, sealed)
     VALUES ($1, $2, 'shop', 'client-1', '{}', $3, $4, $5)`,
    [id, tenant, keyId, wrappedKey, sealed],
  );
  expect(await rotateKeys(db, ring(k2, k1))).toMatchObject({ rewrapped: 1, stuck: [] });
  const [row] = await db.query<Parameters<typeof open>[2]>(
    'SELECT key_id AS "keyId", wrapped_key AS "wrappedKey", sealed FROM oauth_client WHERE id = $1',
    [id],
  );
  if (row === undefined) throw new Error('the client is gone');
  expect(open(ring(k2), clientPlace({ tenant, id }), row)).toBe('client-secret');
  expect(await auditSecrets(db, ring(k2))).toEqual([]);
  expect(await auditSecrets(db, ring(k1))).toContainEqual(
    expect.stringMatching(`^Account ${tenant}: the OAuth client shop: .* the install key "k2", which is not there`),
  );
  await db.query('DELETE FROM oauth_client WHERE id = $1', [id]);
});

test('two rotations at once and one that was cut in its midst leave every secret readable', async () => {
  await putMany(ring(k2), 450);
  const both = ring(k3, k2);
  const cut = rotateKeys(db, both, () => {
    throw new Error('cut here');
  });
  await expect(cut).rejects.toThrow('cut here');
  const half = await db.query('SELECT key_id FROM secret GROUP BY key_id ORDER BY key_id');
  expect(half).toEqual([{ key_id: 'k2' }, { key_id: 'k3' }]);
  for (const name of ['S0', 'S449']) expect(await read(both, name)).not.toBeNull();
  const ends = await Promise.all([rotateKeys(db, both), rotateKeys(db, both)]);
  expect(ends.reduce((sum, { rewrapped }) => sum + rewrapped, 0)).toBe(250);
  for (let n = 0; n < 450; n += 50) expect(await read(ring(k3), `S${n}`)).not.toBeNull();
});

test('a secret whose key is gone stays as it is, is named, and holds up no other', async () => {
  const lost = key('lost');
  await put(ring(lost), 'LOST', 'under-a-lost-key');
  await put(ring(k3), 'KEPT', 'under-a-known-key');
  await putMany(ring(k3), 300);
  const { stuck, byKey } = await rotateKeys(db, ring(k1, k3));
  expect(stuck).toEqual([
    'the secret LOST is wrapped under the install key "lost", which is not there: put it back into SERVICE_KEYS',
  ]);
  expect([...byKey]).toEqual([
    ['k1', 301],
    ['lost', 1],
  ]);
  expect(await read(ring(k1), 'KEPT')).toMatchObject({ value: 'under-a-known-key' });
  expect(await read(ring(lost), 'LOST')).toMatchObject({ value: 'under-a-lost-key' });
});

test('the audit finds what does not open and what belongs to nobody, and tells no value', async () => {
  await putMany(ring(k1), 5);
  await put(ring(key('lost')), 'LOST', 'under-a-lost-key');
  const keys = ring(k1, key('lost'));
  const place = { tenant, workspace: 'gone', name: 'ORPHAN' };
  const value = { shape: 'value', value: 'of-a-gone-workspace' } as const;
  await db.transaction((tx) => writeSecret(tx, keys, { ...place, value }));
  await db.query(`UPDATE secret SET sealed = set_byte(sealed, 30, (get_byte(sealed, 30) + 1) % 256) WHERE name = 'S1'`);
  const faults = await auditSecrets(db, keys);
  expect([...faults].sort()).toEqual([
    `Account ${tenant}: the secret LOST cannot be decrypted: its row is damaged, or the install key of its id is another one; store it again.`,
    `Account ${tenant}: the secret ORPHAN lies in the vault of a workspace that is gone.`,
    `Account ${tenant}: the secret S1 cannot be decrypted: its row is damaged, or the install key of its id is another one; store it again.`,
  ]);
  expect(await auditSecrets(db, null)).toHaveLength(8);
});
