import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { buffer } from 'node:stream/consumers';
import { Client } from 'minio';
import { Refusal } from '../../shared/refusal.js';
import type { Config } from '../config/index.js';
import { blobKey, checkedBlob, checkedStream, isSha, sha256Hex, sha256OfFile } from './blob-key.js';
import type { BlobStore } from './contract.js';

type S3 = Exclude<Config['s3'], null>;

/** The S3 error codes for an object or a bucket that does not exist. */
const MISSING = new Set(['NoSuchKey', 'NotFound', 'NoSuchBucket']);

/** Blobs as objects `ab/<sha>` of one bucket. The first write creates a missing bucket. */
export function createS3Store(s3: S3): BlobStore {
  const client = createClient(s3);
  const { bucket } = s3;
  let made: Promise<void> | null = null;
  const ready = () => {
    made ??= makeBucket(client, s3).catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
  const has = async (sha: string) => {
    const found = await client.statObject(bucket, blobKey(sha)).catch(unlessMissing);
    return found !== null;
  };
  return {
    put: async (bytes) => {
      const sha = sha256Hex(bytes);
      await ready();
      if (!(await has(sha))) await client.putObject(bucket, blobKey(sha), Buffer.from(bytes), bytes.byteLength);
      return sha;
    },
    shaOf: sha256OfFile,
    putFile: async (file, sha) => {
      await ready();
      if (await has(sha)) return;
      const { size } = await stat(file);
      await client.putObject(bucket, blobKey(sha), checkedStream(sha, createReadStream(file)), size);
    },
    get: async (sha) => {
      const stream = await client.getObject(bucket, blobKey(sha)).catch(unlessMissing);
      return stream && checkedBlob(sha, await buffer(stream));
    },
    open: async (sha) => {
      const stream = await client.getObject(bucket, blobKey(sha)).catch(unlessMissing);
      return stream && checkedStream(sha, stream);
    },
    has,
    delete: async (sha) => {
      await client.removeObject(bucket, blobKey(sha)).catch(unlessMissing);
    },
    list: () => listObjects(client, bucket),
  };
}

function createClient({ endpoint, accessKey, secretKey, region }: S3): Client {
  const url = new URL(endpoint);
  if (url.pathname !== '/') {
    throw new Refusal('refused', `the S3 endpoint ${endpoint} has a path: give only scheme, host and port`);
  }
  const useSSL = url.protocol === 'https:';
  return new Client({
    endPoint: url.hostname,
    port: url.port === '' ? (useSSL ? 443 : 80) : Number(url.port),
    useSSL,
    accessKey,
    secretKey,
    region,
    pathStyle: true,
    transport: { request: withResponseTimeout((useSSL ? https : http).request) } as typeof http,
  });
}

async function* listObjects(client: Client, bucket: string): AsyncGenerator<string> {
  try {
    for await (const { name = '' } of client.listObjectsV2(bucket, '', true) as AsyncIterable<{ name?: string }>) {
      const sha = name.slice('ab/'.length);
      if (isSha(sha) && name === blobKey(sha)) yield sha;
    }
  } catch (error) {
    unlessMissing(error);
  }
}

/** A server that does not start its answer within this time counts as unavailable. */
const SILENT_MS = 30_000;

/** Requests with a timeout for the start of the response only: a slow reader may take longer. */
function withResponseTimeout(send: typeof http.request): typeof http.request {
  return ((...args: Parameters<typeof http.request>) => {
    const request = send(...args);
    request.setTimeout(SILENT_MS, () => request.destroy(new Error('the S3 server does not respond')));
    return request.once('response', () => request.setTimeout(0));
  }) as typeof http.request;
}

async function makeBucket(client: Client, { bucket, region }: S3): Promise<void> {
  if (await client.bucketExists(bucket)) return;
  await client.makeBucket(bucket, region).catch(async (error: unknown) => {
    // Another process may have created it in the meantime.
    if (!(await client.bucketExists(bucket))) throw error;
  });
}

function unlessMissing(error: unknown): null {
  if (MISSING.has((error as { code?: string }).code ?? '')) return null;
  throw error;
}
