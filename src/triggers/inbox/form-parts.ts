import { charsetOf, decodeIn, decodeLossy, formBytes } from '../../shared/charset.js';
import { readParts } from '../read-body.js';

/** A field of a form, or a file in it, with its bytes as they came. */
export interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Null for a field. */
  readonly file: { readonly name: string; readonly type: string } | null;
}

/**
 * The parts of a form; null when the body is not a form. Providers send each field in the charset of the mail, but the
 * platform's parser reads all fields as UTF-8. So a multipart body is parsed as latin1, and the parts are turned into
 * bytes again.
 */
export async function readFormParts(type: string, body: Uint8Array): Promise<readonly Part[] | null> {
  const isParts = /^multipart\//i.test(type.trim());
  const charset = charsetOf(type);
  if (!isParts && charset !== null) {
    // The field `charsets` describes bytes that are decoded already.
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
