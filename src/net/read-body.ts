import { PassThrough, type Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { NetError } from './net-error.js';

const DECODERS: Readonly<Record<string, () => Transform>> = {
  identity: () => new PassThrough(),
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The body, unpacked. Bytes are counted as they come in and again as they come out, so no bomb is ever held. */
export async function readBody(
  stream: Readable,
  { encoding, maxBytes, host }: { encoding: string | null; maxBytes: number; host: string },
): Promise<Uint8Array> {
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
  const chunks: Buffer[] = [];
  await pipeline(stream, count, decoder(), count, async (source) => {
    for await (const chunk of source) chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}

function sizeText(bytes: number): string {
  const mib = bytes / 1_048_576;
  return mib >= 1 ? `${Math.round(mib * 10) / 10} MiB` : `${Math.round(bytes / 102.4) / 10} KiB`;
}
