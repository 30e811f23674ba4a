import { isUtf8 } from 'node:buffer';

/** The charset that a Content-Type names; null for UTF-8, for none, and for one that nobody knows. */
export function charsetOf(type: string): string | null {
  const named = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(type)?.[1];
  if (named === undefined) return null;
  try {
    const { encoding } = new TextDecoder(named);
    return encoding === 'utf-8' ? null : encoding;
  } catch {
    return null;
  }
}

/** Whatever a sender names, most send UTF-8; but escapes and zeros are of another charset, whose bytes look like it. */
function looksLikeUtf8(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0x1b) && !bytes.includes(0);
}

/** Bytes as text: UTF-8, which many send whatever they name, else of the charset; null when they are neither. */
export function decodeIn(bytes: Uint8Array, charset: string | null): string | null {
  if (charset === null) return isUtf8(bytes) ? new TextDecoder().decode(bytes) : null;
  if (looksLikeUtf8(bytes)) return new TextDecoder().decode(bytes);
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The fields of a urlencoded form, each in UTF-8 or in this charset; what is in neither becomes U+FFFD. */
export function fieldsIn(body: Uint8Array, charset: string): readonly (readonly [string, string])[] {
  const [utf8, other] = [new TextDecoder(), new TextDecoder(charset)];
  const text = (escaped: string): string => {
    const plain = escaped.replaceAll('+', ' ');
    if (!/[%\x80-\xff]/.test(plain)) return plain;
    const bytes = unescaped(plain);
    return (looksLikeUtf8(bytes) ? utf8 : other).decode(bytes);
  };
  // One character a byte, until the charset is asked.
  const pairs = Buffer.from(body).toString('latin1').split('&');
  return pairs.flatMap((pair) => {
    const at = pair.indexOf('=');
    if (pair === '') return [];
    return [at < 0 ? [text(pair), ''] : [text(pair.slice(0, at)), text(pair.slice(at + 1))]] as const;
  });
}

function unescaped(text: string): Uint8Array {
  const bytes = text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}
