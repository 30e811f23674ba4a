import { promisify } from 'node:util';
import { gunzip, inflate, inflateRaw, type ZlibOptions } from 'node:zlib';
import { errorMessage, Refusal } from './refusal.js';

type Decoder = (bytes: Uint8Array, options: ZlibOptions) => Promise<Buffer>;

const gunzipped: Decoder = promisify(gunzip);
const inflated: Decoder = promisify(inflate);
const inflatedRaw: Decoder = promisify(inflateRaw);

/** HTTP's "deflate" is the zlib format, but some senders leave its header out: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2 */
const deflated: Decoder = (bytes, options) => {
  const [first = 0, second = 0] = bytes;
  const isZlib = (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
  return (isZlib ? inflated : inflatedRaw)(bytes, options);
};

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: gunzipped,
  'x-gzip': gunzipped,
  deflate: deflated,
};

/** A request's Content-Encoding; null for none. Refuses an unsupported coding before the body is read. */
export function contentCoding(header: string | undefined): string | null {
  const coding = header?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return null;
  if (Object.hasOwn(DECODERS, coding)) return coding;
  throw new Refusal(
    'unsupported_type',
    `Content-Encoding: ${coding} is not supported: send gzip, deflate or no coding`,
    {
      code: 'unsupported-encoding',
      acceptEncoding: ['gzip', 'deflate'],
    },
  );
}

/** The bytes without their content coding. Stops as soon as they are more than `maxBytes`. */
export async function decodeContent(
  bytes: Uint8Array,
  { header, maxBytes }: { readonly header: string | undefined; readonly maxBytes: number },
): Promise<Uint8Array> {
  const coding = contentCoding(header);
  const decode = coding === null || bytes.byteLength === 0 ? undefined : DECODERS[coding];
  if (decode === undefined) return bytes;
  try {
    return await decode(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(maxBytes);
    throw new Refusal('malformed', `the body cannot be decoded as ${coding}: ${errorMessage(error)}`);
  }
}

export function bodyTooLarge(maxBytes: number): Refusal {
  const size = maxBytes >= 1024 * 1024 ? `${maxBytes / 1024 / 1024} MiB` : `${maxBytes} bytes`;
  return new Refusal('too_large', `the body is over the limit of ${size}`, { limitBytes: maxBytes });
}
