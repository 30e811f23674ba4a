import { mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createDb, type Db, lastOf, startBlockWatch, startWorkerHeartbeat } from '../../src/platform/db/index.js';
import { newId } from '../../src/shared/ids.js';
import { threadCpuMs } from '../../src/shared/thread-cpu.js';
import { atFileEnd } from '../support/file-end.js';
import { freshDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';

const LIMITS = { silentMs: 600, cpuMs: 300 };
const folder = mkdtempSync(join(tmpdir(), 'signalbox-block-watch-'));
const threadPath = join(folder, 'block-watch.cjs');

let url: string;
let db: Db;
const open: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  const database = await freshDatabase();
  url = database.url;
  db = createDb({ url, ca: null, poolSize: 3, log: silentLog });
  atFileEnd(async () => {
    await db.close();
    await database.drop();
  });
  // A trigger of the statement also fires where the statement changes no row.
  await db.query('CREATE TABLE block_write (at timestamptz NOT NULL DEFAULT now())');
  await db.query(`CREATE FUNCTION on_block_write() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN INSERT INTO block_write DEFAULT VALUES; RETURN NULL; END'`);
  await db.query(`CREATE TRIGGER on_block_write AFTER UPDATE OF blocked_from ON worker_seen
    FOR EACH STATEMENT EXECUTE FUNCTION on_block_write()`);
  await build({
    entryPoints: [fileURLToPath(new URL('../../src/platform/db/block-watch-thread.ts', import.meta.url))],
    outfile: threadPath,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    external: ['pg-native'],
    define: { 'import.meta.url': '__moduleUrl' },
    banner: { js: "const __moduleUrl = require('node:url').pathToFileURL(__filename).href;" },
    logLevel: 'error',
  });
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function watched() {
  const id = newId();
  const worker = await startWorkerHeartbeat(db, { id, version: '1', sandbox: 'none', models: () => [] }, silentLog);
  const watch = startBlockWatch({ workerId: id, url, ca: null, log: silentLog, threadPath, limits: LIMITS });
  open.push(worker, watch);
  return { id, worker, watch };
}

const stored = async (id: string) =>
  (await db.query<{ blocks: number }>('SELECT blocks FROM worker_seen WHERE id = $1', [id]))[0]?.blocks;

/** Blocks this thread until the watch has noticed; in vain for a minute at most. */
function blockUntil(isNoticed: () => boolean): void {
  const until = performance.now() + 60_000;
  while (!isNoticed() && performance.now() < until);
}

test('a busy loop on the main thread is recorded while it still runs, once each time', async () => {
  const { id, watch } = await watched();
  for (const times of [1, 2]) {
    blockUntil(() => watch.blocks() === times);
    expect(watch.blocks()).toBe(times);
    await expect.poll(() => stored(id)).toBe(times);
  }
  // A call that started before the block is blamed, one that started after it is not.
  const ends = [0, 1, 2].map((blocks) => lastOf(db, id, { blocks }));
  expect(await Promise.all(ends)).toEqual(['blocked', 'blocked', 'alive']);
  // A call that was cut before the block is not blamed, one that was cut after it is.
  const from = await lastBlockOf(id);
  expect(await lastOf(db, id, { until: from - 1 })).toBe('alive');
  expect(await lastOf(db, id, { until: from + 1 })).toBe('blocked');
});

const lastBlockOf = async (id: string) => {
  const text = 'SELECT blocked_from AS at FROM worker_seen WHERE id = $1';
  return (await db.query<{ at: Date }>(text, [id]))[0]?.at.getTime() ?? Number.NaN;
};

test('a worker that was blocked and then shuts down on request was blocked for the calls that the block cut', async () => {
  const { id, worker, watch } = await watched();
  blockUntil(() => watch.blocks() === 1);
  await expect.poll(() => stored(id)).toBe(1);
  await worker.leave();
  expect([await lastOf(db, id), await lastOf(db, id, { blocks: 1 })]).toEqual(['blocked', 'left']);
  await worker.close();
  expect([await lastOf(db, id), await lastOf(db, id, { blocks: 1 })]).toEqual(['blocked', 'left']);
});

test('a block in a shutdown is not recorded: the shutdown cut the calls', async () => {
  const { id, worker, watch } = await watched();
  await worker.leave();
  const written = async () => (await db.query('SELECT 1 FROM block_write')).length;
  const before = await written();
  blockUntil(() => watch.blocks() === 1);
  await expect.poll(written).toBe(before + 1);
  expect([await stored(id), await lastOf(db, id)]).toEqual([0, 'left']);
});

test.skipIf(process.platform !== 'linux')(
  'a thread that gets no CPU time, as on a machine that was frozen, is not blocked; neither is a busy one that handles events',
  async () => {
    const { id, watch } = await watched();
    const { silentMs, cpuMs } = LIMITS;
    const cpu = () => threadCpuMs(readlinkSync('/proc/thread-self')) ?? 0;
    // The watch notices a first block, so it works. Then it sees turns of this thread, which end that block.
    blockUntil(() => watch.blocks() === 1);
    await expect.poll(() => stored(id)).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const before = cpu();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4 * silentMs);
    expect(cpu() - before).toBeLessThan(cpuMs);
    expect(watch.blocks()).toBe(1);
    // In the same turn, CPU time makes it a block: the watch was ready to find one all the time.
    blockUntil(() => watch.blocks() === 2);
    expect(watch.blocks()).toBe(2);
    const busySince = cpu();
    while (cpu() - busySince < 4 * silentMs) {
      const piece = cpu();
      while (cpu() - piece < cpuMs / 10);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    expect(watch.blocks()).toBe(2);
  },
);
