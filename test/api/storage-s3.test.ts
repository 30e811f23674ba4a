import { Client } from 'minio';
import { expect, test } from 'vitest';
import { createBlobStore } from '../../src/platform/storage/index.js';
import { startS3 } from '../support/s3-server.js';

const SHA = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

test('the S3 store makes its bucket and keeps blobs as the file store does', async () => {
  const s3 = await startS3();
  const store = createBlobStore({ dataDir: '/nowhere', s3 });
  expect(await store.get(SHA), 'nothing is there before the bucket is').toBeNull();
  expect(await store.has(SHA)).toBe(false);
  expect(await Promise.all([store.put(Buffer.from('abc')), store.put(Buffer.from('abc'))])).toEqual([SHA, SHA]);
  expect(Buffer.from((await store.get(SHA)) ?? [])).toEqual(Buffer.from('abc'));
  const big = Buffer.alloc(6_000_000, 'x');
  expect(Buffer.from((await store.get(await store.put(big))) ?? []).equals(big)).toBe(true);
  expect((await store.get(await store.put(new Uint8Array())))?.byteLength).toBe(0);

  const another = createBlobStore({ dataDir: '/nowhere', s3 });
  expect(await another.has(SHA)).toBe(true);
  const listed: string[] = [];
  for await (const sha of another.list()) listed.push(sha);
  expect(listed).toHaveLength(3);
  expect(listed).toContain(SHA);
  await another.delete(SHA);
  await another.delete(SHA);
  expect(await store.get(SHA)).toBeNull();

  const { hostname, port } = new URL(s3.endpoint);
  const raw = new Client({
    endPoint: hostname,
    port: Number(port),
    useSSL: false,
    accessKey: s3.accessKey,
    secretKey: s3.secretKey,
    region: s3.region,
  });
  await raw.putObject(s3.bucket, `ba/${SHA}`, Buffer.from('abd'));
  await expect(store.get(SHA)).rejects.toThrow('are not its own');
});

test('a wrong key of the S3 server is an error, not an empty store', async () => {
  const s3 = await startS3();
  const store = createBlobStore({ dataDir: '/nowhere', s3: { ...s3, secretKey: 'wrong' } });
  const told = {
    details: { code: 'storage-unavailable' },
    cause: { message: expect.stringMatching(/signature|credentials|denied/i) },
  };
  await expect(store.put(Buffer.from('abc'))).rejects.toMatchObject(told);
  await expect(store.get(SHA)).rejects.toMatchObject(told);
});
