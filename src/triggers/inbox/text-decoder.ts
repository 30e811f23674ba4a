import { Transform, type TransformCallback } from 'node:stream';
import { charsetNamed, decodeIn, decodeLossy } from '../../shared/charset.js';

/**
 * Decodes a text part for the mail parser by the tables of the Encoding Standard: the parser's own tables decode the
 * bytes 80–9F of ISO-8859-1 to control characters. A part without a charset is UTF-8 if it is valid UTF-8.
 */
export class MailTextDecoder extends Transform {
  readonly #label: string;
  readonly #chunks: Uint8Array[] = [];

  constructor(label: string) {
    super();
    this.#label = label;
  }

  override _transform(chunk: Uint8Array, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#chunks.push(chunk);
    done();
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(decodeMailText(Buffer.concat(this.#chunks), this.#label)));
  }
}

/** Decodes bytes by the charset with this label. ASCII and unknown charsets are UTF-8 if the bytes are valid UTF-8. */
export function decodeMailText(bytes: Uint8Array, written: string): string {
  // Mail programs also use labels of windows charsets that the standard does not list.
  const label = written.replace(/^win(?:dows)?[-_]?(?=\d{3,4}$)/i, 'windows-');
  const charset = /ascii|^ansi_x3/i.test(label) ? null : charsetNamed(label);
  if (charset !== null && charset !== 'utf-8') return decodeLossy(bytes, charset);
  return decodeIn(bytes, null) ?? decodeLossy(bytes, charset ?? 'windows-1252');
}

/** Replaces ISO-8859-1 control characters by the windows-1252 characters that the sender meant. */
export function withoutControls(text: string): string {
  return text.replace(/[\x80-\x9f]+/g, (found) => decodeLossy(Buffer.from(found, 'latin1'), 'windows-1252'));
}
