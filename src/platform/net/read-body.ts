import { PassThrough, pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { NetError } from './net-error.js';

const DECODERS: Readonly<Record<string, () => Transform>> = {
  identity: () => new PassThrough(),
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

interface BodyRules {
  readonly encoding: string | null;
  readonly maxBytes: number;
  readonly host: string;
}

/** The whole body, decompressed. */
export async function readBody(stream: Readable, rules: BodyRules): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of unpack(stream, rules)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * The body as it arrives, decompressed. Counts the bytes before and after decompression, so a zip bomb is never held in
 * memory.
 */
export function unpack(stream: Readable, { encoding, maxBytes, host }: BodyRules): Readable {
  const decoder = DECODERS[encoding?.trim().toLowerCase() || 'identity'];
  if (decoder === undefined)
    throw new NetError('broken', `${host} answers in an encoding that was not asked for`, true);
  const count = async function* (source: AsyncIterable<Buffer>) {
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > maxBytes)
        throw new NetError('too-large', `${host} answers with more than ${sizeText(maxBytes)}`, true);
      yield chunk;
    }
  };
  const unpacked = new PassThrough();
  // An error anywhere in the pipeline destroys `unpacked`, so its reader gets it.
  pipeline(stream, count, decoder(), count, unpacked, () => undefined);
  return unpacked;
}

function sizeText(bytes: number): string {
  const mib = bytes / 1_048_576;
  return mib >= 1 ? `${Math.round(mib * 10) / 10} MiB` : `${Math.round(bytes / 102.4) / 10} KiB`;
}
