import { charsetOf, decodeIn, decodeLossy, formBytes } from '../../shared/charset.js';
import { readParts } from '../read-form.js';

/** A field of a form, or a file in it, with its bytes as they came. */
export interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Null for a field. */
  readonly file: { readonly name: string; readonly type: string } | null;
}

/**
 * The parts of a form; null when the body is none. Providers send each field of a mail in the charset that the mail had,
 * and the platform reads all of them as UTF-8: so a multipart body is given to it as text of one byte a character, and
 * what comes back is turned into bytes again.
 */
export async function readFormParts(type: string, body: Uint8Array): Promise<readonly Part[] | null> {
  const isParts = /^multipart\//i.test(type.trim());
  const charset = charsetOf(type);
  if (!isParts && charset !== null) {
    // The field `charsets` tells of bytes that are a text by now.
    const text = (bytes: Uint8Array): string => decodeIn(bytes, charset) ?? decodeLossy(bytes, charset);
    const fields = formBytes(body).map(([name, value]) => [text(name), text(value)] as const);
    const others = fields.filter(([name]) => name.toLowerCase() !== 'charsets');
    return others.map(([name, value]) => ({ name, bytes: Buffer.from(value), file: null }));
  }
  const form = await readParts(type, isParts ? Buffer.from(Buffer.from(body).toString('latin1')) : body);
  if (form === null) return null;
  const bytesOf = (text: string): Uint8Array => Buffer.from(text, isParts ? 'latin1' : 'utf8');
  const textOf = (text: string): string => decodeLossy(bytesOf(text));
  const parts = [...form].map(async ([name, value]): Promise<Part> => {
    if (typeof value === 'string') return { name: textOf(name), bytes: bytesOf(value), file: null };
    const bytes = new Uint8Array(bytesOf(await value.text()));
    return { name: textOf(name), bytes, file: { name: textOf(value.name), type: value.type } };
  });
  return Promise.all(parts);
}
