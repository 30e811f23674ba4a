import { checkPath, foldPath } from '../../format/index.js';

const MAX_LENGTH = 120;
/** How many characters of a name are read: from its start, and from its end for the extension. */
const [BEGINNING, END] = [400, 100];

/** File names for one folder, in the given order: each is safe, and all differ even without case. */
export function attachmentNames(given: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return given.map((name, index) => {
    const plain = plainName(name) ?? `attachment-${index + 1}`;
    let free = plain;
    for (let n = 2; taken.has(foldPath(free)); n += 1) free = numbered(plain, n);
    taken.add(foldPath(free));
    return free;
  });
}

/** Removes folders, direction marks and characters that file systems reserve; null when nothing is left. */
function plainName(name: string): string | null {
  const whole = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  const last = (whole.length > BEGINNING + END ? whole.slice(0, BEGINNING) + whole.slice(-END) : whole).normalize(
    'NFC',
  );
  const plain = last
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[%:*?"<>|]/g, '_')
    .replace(/^[\s.]+|[\s.]+$/g, '');
  const short = shorten(plain);
  return short !== '' && checkPath(short).ok ? short : null;
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_LENGTH) return name;
  const end = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? '';
  let kept = '';
  for (const sign of name) {
    if (Buffer.byteLength(kept + sign + end) > MAX_LENGTH) break;
    kept += sign;
  }
  return kept + end;
}

function numbered(name: string, n: number): string {
  const [, stem = name, end = ''] = /^(.+?)(\.[A-Za-z0-9]{1,10})?$/s.exec(name) ?? [];
  return `${stem}-${n}${end}`;
}
