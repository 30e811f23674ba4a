import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createBlobStore } from '../../src/platform/storage/index.js';

const SHA = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

async function newStore() {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-blobs-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  return { store: createBlobStore({ dataDir, s3: null }), dataDir, file: join(dataDir, 'blobs', 'ba', SHA) };
}

test('a blob is stored once by its SHA-256 and answered byte for byte', async () => {
  const { store, file, dataDir } = await newStore();
  expect(await Promise.all(Array.from({ length: 10 }, () => store.put(Buffer.from('abc'))))).toEqual(
    Array(10).fill(SHA),
  );
  expect(Buffer.from((await store.get(SHA)) ?? [])).toEqual(Buffer.from('abc'));
  expect(await readdir(join(dataDir, 'blobs', 'ba')), 'no temporary file is left').toEqual([SHA]);
  expect((await stat(file)).mode & 0o077, 'nobody else may read it').toBe(0);
  expect(await store.has(SHA)).toBe(true);
  await writeFile(join(dataDir, 'blobs', 'ba', '.draft'), 'half of it');
  const listed: string[] = [];
  for await (const sha of store.list()) listed.push(sha);
  expect(listed).toEqual([SHA]);
  await store.delete(SHA);
  await store.delete(SHA);
  expect([await store.has(SHA), await store.get(SHA)]).toEqual([false, null]);
});

test('an empty blob is a blob', async () => {
  const { store } = await newStore();
  expect((await store.get(await store.put(new Uint8Array())))?.byteLength).toBe(0);
});

test('bytes that are not those of their name are never given out', async () => {
  const { store, file } = await newStore();
  await store.put(Buffer.from('abc'));
  await chmod(file, 0o600);
  await writeFile(file, 'abd');
  await expect(store.get(SHA)).rejects.toThrow('are not its own');
});

test.each(['', '../../etc/passwd', SHA.toUpperCase(), `${SHA}0`, `${SHA.slice(1)}/`])(
  'security 30: %j can be no key',
  async (key) => {
    const { store } = await newStore();
    await expect(async () => store.get(key)).rejects.toThrow('64 hex digits');
    await expect(async () => store.delete(key)).rejects.toThrow('64 hex digits');
  },
);
