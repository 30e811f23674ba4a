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

/** What says that it is a PEM block must be one: a cut key would be found out only by the run that needs it. */
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
  // What a passphrase locks and what OpenSSH writes cannot be looked into here.
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

/** A setting's name, in whatever quotes; longer ones are none. */
const NAME = /^[\s"'{,-]*[\w. -]+["']?\s*$/;
const MAX_NAME = 100;
const AFTER = new Set(['"', "'", '}', ',', ';', ' ', '\t']);
const KINDS = [/[a-z]/, /[A-Z]/, /[0-9]/, /[^A-Za-z0-9./: -]/];

/** Of a file of settings what stands behind each `=` or `:` by itself, when it looks like more than a word or an address. */
function valuesIn(content: string): string[] {
  return content.split(/\r?\n/).flatMap((line) => {
    const at = line.search(/[:=]/);
    const name = line.slice(0, Math.max(0, at)).trim();
    if (name.length > MAX_NAME || !NAME.test(name)) return [];
    const text = bare(line.slice(at + 1).trim());
    return text.length >= 8 && KINDS.filter((kind) => kind.test(text)).length >= 2 ? [text] : [];
  });
}

/** Without the quotes around it, and what a list or a block goes on with behind it. */
function bare(value: string): string {
  let end = value.length;
  while (end > 0 && AFTER.has(value[end - 1] ?? '')) end -= 1;
  return value.slice(/^["']/.test(value) ? 1 : 0, end);
}
