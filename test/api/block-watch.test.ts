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

const CPU_MS = 400;
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
  const watch = startBlockWatch({ workerId: id, url, ca: null, log: silentLog, threadPath, blockedCpuMs: CPU_MS });
  open.push(worker, watch);
  return { id, watch };
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
  expect([await lastOf(db, id, 0), await lastOf(db, id, 1), await lastOf(db, id, 2)]).toEqual([
    'blocked',
    'blocked',
    'alive',
  ]);
});

test.skipIf(process.platform !== 'linux')(
  'a thread that gets no CPU time, as on a machine that was frozen, is not blocked; neither is a busy one that handles events',
  async () => {
    const { watch } = await watched();
    // The watch notices a first block, so it works, and its looks go on.
    blockUntil(() => watch.blocks() === 1);
    const cpu = () => threadCpuMs(readlinkSync('/proc/thread-self')) ?? 0;
    const before = cpu();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4 * CPU_MS);
    expect(cpu() - before).toBeLessThan(CPU_MS);
    const busySince = cpu();
    while (cpu() - busySince < 4 * CPU_MS) {
      const piece = cpu();
      while (cpu() - piece < CPU_MS / 10);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    expect(watch.blocks()).toBe(1);
  },
);
