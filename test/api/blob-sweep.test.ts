import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import type { Scene } from '../../src/observe/doctor/check.js';
import { blobs as check } from '../../src/observe/doctor/checks/blobs.js';
import type { Db, Sql } from '../../src/platform/db/contract.js';
import { createDb } from '../../src/platform/db/index.js';
import { recordOrphans } from '../../src/platform/storage/held-blobs.js';
import {
  type BlobStore,
  endHolds,
  freeBlobs,
  type HeldBlob,
  holdBlob,
  releaseHolds,
  sweepBlobs,
} from '../../src/platform/storage/index.js';
import { atFileEnd } from '../support/file-end.js';
import { hooked, hookOf, runsOf, send } from '../support/hooks.js';
import { testDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';
import { AGENT, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

let db: Db;
let blobs: BlobStore;
let app: WorkspaceApp;
beforeAll(async () => {
  db = createDb({ url: testDatabase(), ca: null, poolSize: 12, log: silentLog });
  atFileEnd(() => db.close());
  const workflows = new Proxy({} as WorkspaceApp['deps']['workflows'], {
    get: () => () => Promise.reject(new Error('Temporal is away')),
  });
  app = await createWorkspaceApp({ routes, deps: { db, workflows } });
  blobs = app.deps.blobs;
});

const DAY_MS = 86_400_000;
const shaOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const hold = (text: string, store: BlobStore = blobs) => holdBlob({ db, blobs: store }, Buffer.from(text));

/** Makes it a file, as tools and mails do. */
async function name(held: HeldBlob, path: string, sql: Sql = db): Promise<void> {
  await sql.query(
    `INSERT INTO storage_entry (workspace_id, path, sha, size, type, written_by) VALUES ('w', $1, $2, 1, 't', '{}')
      ON CONFLICT (workspace_id, path) DO UPDATE SET sha = excluded.sha`,
    [path, held.sha],
  );
  await endHolds(sql, [held]);
}
const take = (held: HeldBlob, path: string) => db.transaction((sql) => name(held, path, sql));
const remove = (path: string) => db.query(`DELETE FROM storage_entry WHERE workspace_id = 'w' AND path = $1`, [path]);
/** As if so much time had passed for all that waits to be freed. */
const pass = async (ms: number) => {
  await db.query(`UPDATE loose_blob SET at = at - $1 * interval '1 ms'`, [ms]);
  await db.query(`UPDATE blob_hold SET at = at - $1 * interval '1 ms'`, [ms]);
};
const sweep = () => sweepBlobs({ db, blobs });
const there = async (...texts: string[]) => Promise.all(texts.map((text) => blobs.has(shaOf(text))));

test('a blob is freed a day after its last row went or named another; one that is named or held stays', async () => {
  await take(await hold('gone'), 'gone');
  await take(await hold('changed'), 'changed');
  await take(await hold('shared'), 'one');
  await take(await hold('shared'), 'two');
  await remove('gone');
  await remove('one');
  await take(await hold('instead'), 'changed');
  const all = ['gone', 'changed', 'shared', 'instead'];
  await pass(DAY_MS - 60_000);
  await sweep();
  expect(await there(...all)).toEqual([true, true, true, true]);
  await pass(60_000);
  const held = await hold('gone');
  await sweep();
  expect(await there(...all)).toEqual([true, false, true, true]);
  await releaseHolds({ db, blobs }, [held]);
  expect(await there('gone')).toEqual([false]);
});

test('what a process that died had stored is freed after a day, and its transaction takes it no more', async () => {
  const held = await hold('died');
  await pass(DAY_MS + 1);
  await sweep();
  expect(await there('died')).toEqual([false]);
  await expect(take(held, 'died')).rejects.toThrow(/held too long/);
  expect(await db.query(`SELECT 1 FROM storage_entry WHERE path = 'died'`)).toEqual([]);
});

/** Calls that stop until they are let go. */
function gate() {
  const [opened, open] = signal();
  const [reached, reach] = signal();
  const pass = (): Promise<void> => {
    reach();
    return opened;
  };
  return { open, reached, pass };
}

function signal(): [Promise<void>, () => void] {
  let tell = (): void => undefined;
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return [told, () => tell()];
}

test('bytes that are stored again while they are being freed are stored anew', async () => {
  await take(await hold('again'), 'again');
  await remove('again');
  const at = gate();
  const slow: BlobStore = {
    ...blobs,
    delete: async (sha) => {
      await at.pass();
      await blobs.delete(sha);
    },
  };
  const freed = freeBlobs({ db, blobs: slow }, [shaOf('again')]);
  await at.reached;
  // It has been found to be free, and is about to go.
  const held = hold('again');
  const waits = () => db.query(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
  await expect.poll(async () => (await waits()).length).toBe(1);
  at.open();
  await freed;
  await take(await held, 'again');
  expect(await there('again')).toEqual([true]);
});

test('bytes that somebody found in the store are not freed before their row comes', async () => {
  await take(await hold('found'), 'found');
  const at = gate();
  const slow: BlobStore = {
    ...blobs,
    put: async (bytes) => {
      const sha = await blobs.put(bytes);
      await at.pass();
      return sha;
    },
  };
  const held = hold('found', slow);
  await at.reached;
  await remove('found');
  await freeBlobs({ db, blobs }, [shaOf('found')]);
  at.open();
  await take(await held, 'found');
  expect(await there('found')).toEqual([true]);
});

test('however many store, name, lose and free the same few bytes at once, what a row names is there, and at the end nothing else', async () => {
  const texts = ['x', 'y', 'z'];
  let left = 6;
  const worker = async (n: number): Promise<void> => {
    for (let round = 0; round < 25; round += 1) {
      const text = texts[(n + round) % texts.length] ?? '';
      const held = await hold(text);
      if (round % 5 === 4) {
        await releaseHolds({ db, blobs }, [held]);
        continue;
      }
      await take(held, `at-once-${n}`);
      expect(await blobs.has(held.sha)).toBe(true);
      if (round % 3 === 2) await remove(`at-once-${n}`);
    }
    left -= 1;
  };
  const sweeper = async (): Promise<void> => {
    while (left > 0)
      await sweepBlobs({ db, blobs }, { keptMs: 60_000 }).then(() => freeBlobs({ db, blobs }, texts.map(shaOf)));
  };
  await Promise.all([...Array.from({ length: 6 }, (_, n) => worker(n)), sweeper(), sweeper()]);
  const named = await db.query<{ sha: string }>(`SELECT DISTINCT sha FROM storage_entry WHERE path LIKE 'at-once-%'`);
  await freeBlobs({ db, blobs }, texts.map(shaOf));
  const kept = texts.filter((text) => named.some(({ sha }) => sha === shaOf(text)));
  expect(await there(...texts)).toEqual(texts.map((text) => kept.includes(text)));
  expect(await db.query('SELECT 1 FROM blob_hold')).toEqual([]);
});

test('the doctor names blobs that no row names and no sweep knows of; the sweep learns of them, and frees them a day later', async () => {
  const find = async () =>
    (await check.find({ deps: { db, blobs }, root: null } as unknown as Scene)).map(({ says }) => says);
  await pass(DAY_MS + 1);
  await sweep();
  expect(await find()).toEqual([]);
  await blobs.put(Buffer.from('of an older release'));
  const sha = shaOf('of an older release');
  expect(await find()).toEqual([`The blob ${sha} is named by no row, and no sweep knows of it.`]);
  await recordOrphans({ db, blobs });
  expect(await find()).toEqual([]);
  await sweep();
  expect(await there('of an older release')).toEqual([true]);
  await pass(2 * DAY_MS + 1);
  expect(await find()).toEqual([`The blob ${sha} is named by no row, and was not freed for two days.`]);
  await sweep();
  expect([await find(), await there('of an older release')]).toEqual([[], [false]]);
});

test('a sweep and a scan of the store end between two blobs when the process ends, and the next ones go on', async () => {
  const stop = new AbortController();
  const { signal } = stop;
  const all = Array.from({ length: 5 }, (_, at) => `loose ${at}`);
  for (const text of all) await blobs.put(Buffer.from(text));
  await recordOrphans({ db, blobs }, AbortSignal.abort());
  await pass(DAY_MS + 1);
  await sweep();
  expect(await there(...all)).toEqual(all.map(() => true));
  expect(await db.query('SELECT 1 FROM loose_blob')).toEqual([]);
  await recordOrphans({ db, blobs });
  await pass(DAY_MS + 1);
  const first: BlobStore = { ...blobs, delete: (sha) => blobs.delete(sha).then(() => stop.abort()) };
  await sweepBlobs({ db, blobs: first }, { signal });
  expect((await there(...all)).filter((isThere) => !isThere)).toHaveLength(1);
  await sweep();
  expect(await there(...all)).toEqual(all.map(() => false));
});

test('a mail’s files are stored while no transaction is open, and are its run’s', async () => {
  const { name: workspace } = await app.workspace({
    'agents/writer.md': AGENT,
    'flows/hooked.md': hooked('trigger: email'),
  });
  const { inboxUrl } = await hookOf(app, workspace);
  const busy = () =>
    db.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`);
  const put = blobs.put;
  const seen: number[] = [];
  Object.assign(blobs, {
    put: async (bytes: Uint8Array) => {
      seen.push((await busy()).length);
      return put(bytes);
    },
  });
  const attachments = ['a', 'b'].map((text) => ({
    filename: `${text}.txt`,
    content: Buffer.from(`mail ${text}`).toString('base64'),
  }));
  const mail = { from: 'ada@acme.test', to: 'in@x.test', subject: 'Hi', text: 'Hello', html: '', attachments };
  const sent = await send(app, inboxUrl, mail).finally(() => Object.assign(blobs, { put }));
  expect([sent[0], seen, (await runsOf(app, workspace)).length]).toEqual([202, [0, 0], 1]);
  expect(await there('mail a', 'mail b')).toEqual([true, true]);
  expect(await db.query('SELECT 1 FROM blob_hold')).toEqual([]);
});
