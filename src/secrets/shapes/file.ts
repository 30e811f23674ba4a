import { createPrivateKey, X509Certificate } from 'node:crypto';
import { firstFault, shortFault, textFault } from './faults.js';
import type { ShapeRules } from './shape.js';

export const file: ShapeRules<'file'> = {
  fault: ({ filename, content }) =>
    firstFault(
      nameFault(filename),
      textFault('file.content', content),
      shortFault('file.content', content),
      pemFault(content),
    ),
  hidden: ({ content }) => [content, ...valuesIn(content)],
};

function nameFault(name: string): string | null {
  if (/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/.test(name)) return null;
  return 'file.filename is a name without folders: letters, digits, dots, - and _, 100 characters at most, like client.pem';
}

/** A PEM header must have a complete block: otherwise only the run that needs it would find the truncated key. */
function pemFault(content: string): string | null {
  const blocks = content.match(/-----BEGIN [A-Z0-9 ]+-----/g) ?? [];
  const ends = content.match(/-----END [A-Z0-9 ]+-----/g) ?? [];
  if (blocks.length !== ends.length) {
    return 'file.content has a PEM block that is cut off: give it whole, from -----BEGIN to -----END';
  }
  for (const block of content.match(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g) ?? []) {
    if (!parses(block))
      return `file.content has a PEM block (${block.slice(0, 40).split('\n')[0]}) that does not parse: copy it again, whole`;
  }
  return null;
}

const READERS: readonly (readonly [RegExp, (pem: string) => unknown])[] = [
  // Keys with a passphrase and keys in OpenSSH's format cannot be checked here.
  [/^-----BEGIN (ENCRYPTED|OPENSSH) PRIVATE KEY|Proc-Type: 4,ENCRYPTED/, () => true],
  [/^-----BEGIN ([A-Z]+ )?PRIVATE KEY/, (pem) => createPrivateKey(pem)],
  [/^-----BEGIN CERTIFICATE-----/, (pem) => new X509Certificate(pem)],
];

function parses(pem: string): boolean {
  const read = READERS.find(([form]) => form.test(pem))?.[1];
  try {
    read?.(pem);
    return true;
  } catch {
    return false;
  }
}

/** Matches the name of a setting, in any quotes. Longer texts are not names. */
const NAME = /^[\s"'{,-]*[\w. -]+["']?\s*$/;
const MAX_NAME = 100;
const AFTER = new Set(['"', "'", '}', ',', ';', ' ', '\t']);
const KINDS = [/[a-z]/, /[A-Z]/, /[0-9]/, /[^A-Za-z0-9./: -]/];

/** In a settings file, each value after `=` or `:` that looks like more than a word or an address. */
function valuesIn(content: string): string[] {
  return content.split(/\r?\n/).flatMap((line) => {
    const at = line.search(/[:=]/);
    const name = line.slice(0, Math.max(0, at)).trim();
    if (name.length > MAX_NAME || !NAME.test(name)) return [];
    const text = unquoted(line.slice(at + 1).trim());
    return text.length >= 8 && KINDS.filter((kind) => kind.test(text)).length >= 2 ? [text] : [];
  });
}

/** Without the quotes around it and the separator of a list or a block after it. */
function unquoted(value: string): string {
  let end = value.length;
  while (end > 0 && AFTER.has(value[end - 1] ?? '')) end -= 1;
  return value.slice(/^["']/.test(value) ? 1 : 0, end);
}
