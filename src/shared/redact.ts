/** Shorter values would be found everywhere: redacting "on" or "1234" out of a text destroys it and hides nothing. */
const MIN_LENGTH = 6;

export interface Redactor {
  /** The text with every secret replaced by `[secret NAME]`. */
  text(text: string): string;
  /** For text that comes in pieces: a secret over a border is found too. `end` gives out what is held back. */
  stream(onText: (text: string) => void): { readonly write: (text: string) => void; readonly end: () => void };
  /** As `text`, over bytes of any kind: those that hold no secret come back as they are. */
  bytes(content: Buffer): Buffer;
  /** As `text`, for one whose middle was left out at `marks`: what may be a piece of a secret beside them goes as well. */
  cut(text: string, marks: RegExp): string;
}

/**
 * Takes secret values out of what programs say: as they are, line by line, as JSON strings, in base64 (both
 * alphabets, at any offset within a longer text), hex, and url-encoded. Values under 6 characters are left.
 */
export function redactor(secrets: Iterable<readonly [name: string, text: string]>): Redactor {
  const all = [...secrets];
  const names = new Map<string, string>();
  const broken = new Set<string>();
  for (const [name, value] of all) {
    for (const [form, isBroken] of formsOf(value)) {
      if (!names.has(form)) names.set(form, name);
      if (isBroken) broken.add(form);
    }
  }
  const forms = [...names.keys()].sort((a, b) => b.length - a.length);
  if (forms.length === 0) return PLAIN;
  const needles = { all: forms, broken: forms.filter((needle) => broken.has(needle)) };
  const text = (input: string) => replaceNeedles(input, needles, (found) => `[secret ${names.get(found) ?? ''}]`);
  return {
    text,
    stream: (onText) => streamThrough(text, needles, onText),
    bytes: (content) => redactBytes(content, all),
    cut: (input, marks) => {
      const parts = text(input).split(marks);
      const found = input.match(new RegExp(marks, 'g')) ?? [];
      return parts
        .map((part, index) => {
          const end = index < parts.length - 1 ? part.length - overlapAtEnd(part, needles) : part.length;
          return part.slice(index > 0 ? Math.min(end, overlapAtStart(part, needles)) : 0, end) + (found[index] ?? '');
        })
        .join('');
    },
  };
}

function redactBytes(content: Buffer, secrets: readonly (readonly [name: string, text: string])[]): Buffer {
  // Latin-1 gives every byte a character of its own, so that what is not text is not changed.
  const asBytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
  let text = content.toString('latin1');
  for (const [name, value] of secrets) {
    const forms = [...formsOf(value)].map(([form, isBroken]) => [asBytes(form), isBroken] as const);
    const broken = forms.filter(([, isBroken]) => isBroken).map(([form]) => form);
    text = replaceNeedles(text, { all: forms.map(([form]) => form), broken }, () => asBytes(`[secret ${name}]`));
  }
  return Buffer.from(text, 'latin1');
}

/** What is looked for, the longest first; `broken` are those that may have line breaks within. */
interface Needles {
  readonly all: readonly string[];
  readonly broken: readonly string[];
}

interface Hit {
  readonly start: number;
  end: number;
  readonly needle: string;
}

/** Searched for one by one: a pattern of them all takes ten seconds for a megabyte and a private key. */
function replaceNeedles(text: string, needles: Needles, markOf: (needle: string) => string): string {
  const hits = [...hitsOf(text, needles.all), ...brokenHits(text, needles.broken)];
  if (hits.length === 0) return text;
  hits.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: Hit[] = [];
  for (const hit of hits) {
    const last = merged.at(-1);
    if (last && hit.start < last.end) last.end = Math.max(last.end, hit.end);
    else merged.push({ ...hit });
  }
  let out = '';
  let at = 0;
  for (const { start, end, needle } of merged) {
    out += text.slice(at, start) + markOf(needle);
    at = end;
  }
  return out + text.slice(at);
}

function hitsOf(text: string, needles: readonly string[]): Hit[] {
  const hits: Hit[] = [];
  for (const needle of needles) {
    // Most texts are shorter than most forms of a long key.
    if (needle.length > text.length) continue;
    for (let start = text.indexOf(needle); start >= 0; start = text.indexOf(needle, start + needle.length)) {
      hits.push({ start, end: start + needle.length, needle });
    }
  }
  return hits;
}

/** Hits in the text without its line breaks, at their places in the text with them. */
function brokenHits(text: string, needles: readonly string[]): Hit[] {
  const lines = text.split('\n');
  const hits = lines.length === 1 ? [] : hitsOf(lines.join(''), needles);
  if (hits.length === 0) return [];
  hits.sort((a, b) => a.start - b.start);
  // How many breaks stand before a place: the places come in order, so the lines are gone through once.
  let line = 0;
  let lineEnd = lines[0]?.length ?? 0;
  const breaksBefore = (place: number) => {
    while (lineEnd <= place && line < lines.length - 1) {
      line += 1;
      lineEnd += lines[line]?.length ?? 0;
    }
    return line;
  };
  return hits.map(({ start, end, needle }) => {
    const from = start + breaksBefore(start);
    const saved = [line, lineEnd] as const;
    const to = end + breaksBefore(end - 1);
    [line, lineEnd] = saved;
    return { start: from, end: to, needle };
  });
}

const PLAIN: Redactor = {
  text: (text) => text,
  stream: (onText) => ({ write: onText, end: () => undefined }),
  bytes: (content) => content,
  cut: (text) => text,
};

function streamThrough(text: (input: string) => string, needles: Needles, onText: (text: string) => void) {
  let held = '';
  const give = (out: string) => {
    if (out !== '') onText(out);
  };
  return {
    write: (input: string) => {
      const all = text(held + input);
      const keep = overlapAtEnd(all, needles);
      held = all.slice(all.length - keep);
      give(all.slice(0, all.length - keep));
    },
    end: () => {
      give(held);
      held = '';
    },
  };
}

/** The length of the longest end of the text that a needle begins with. */
function overlapAtEnd(text: string, { all, broken }: Needles): number {
  const begins = (needle: string, end: string) => needle.startsWith(end);
  const plain = overlap(all, text, (length) => text.slice(-length), begins);
  const compact = text.slice(-2 * longest(broken)).replaceAll('\n', '');
  let left = overlap(broken, compact, (length) => compact.slice(-length), begins);
  let at = text.length;
  for (; left > 0; at -= 1) if (text[at - 1] !== '\n') left -= 1;
  return Math.max(plain, text.length - at);
}

function overlapAtStart(text: string, { all, broken }: Needles): number {
  const ends = (needle: string, start: string) => needle.endsWith(start);
  const plain = overlap(all, text, (length) => text.slice(0, length), ends);
  const compact = text.slice(0, 2 * longest(broken)).replaceAll('\n', '');
  let left = overlap(broken, compact, (length) => compact.slice(0, length), ends);
  let at = 0;
  for (; left > 0; at += 1) if (text[at] !== '\n') left -= 1;
  return Math.max(plain, at);
}

function longest(needles: readonly string[]): number {
  return needles[0]?.length ?? 0;
}

/** The greatest length at which a piece of the text is a piece of a needle that is longer. */
function overlap(
  needles: readonly string[],
  text: string,
  pieceOf: (length: number) => string,
  isPartOf: (needle: string, piece: string) => boolean,
): number {
  for (let length = Math.min(longest(needles) - 1, text.length); length > 0; length -= 1) {
    const piece = pieceOf(length);
    if (needles.some((needle) => needle.length > length && isPartOf(needle, piece))) return length;
  }
  return 0;
}

/** Each form, and whether line breaks may stand within: base64 and hex come in lines of 60 to 76 characters. */
function formsOf(value: string): Map<string, boolean> {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const plain = [value, value.trim(), ...(lines.length > 1 ? lines.filter((line) => line.length >= 16) : [])];
  const texts = plain.filter((text) => text.length >= MIN_LENGTH);
  const forms = [
    ...texts.flatMap(codesOf).map((form) => [form, true] as const),
    ...texts.flatMap(spellingsOf).map((form) => [form, false] as const),
  ];
  return new Map(forms.filter(([form]) => form.length >= MIN_LENGTH));
}

function codesOf(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  const hex = bytes.toString('hex');
  return [hex, hex.toUpperCase(), ...base64Forms(bytes)];
}

function spellingsOf(text: string): string[] {
  return [text, ...jsonForms(text), ...urlForms(Buffer.from(text, 'utf8'))];
}

/** Python escapes all that is not ASCII, PHP slashes too; both of it in either case of hex. */
function jsonForms(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const hex = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const ascii = plain.replace(/[^ -~]/g, hex);
  const upper = plain.replace(/[^ -~]/g, (sign) => `\\u${hex(sign).slice(2).toUpperCase()}`);
  return [plain, ascii, upper].flatMap((form) => [form, form.replaceAll('/', '\\/')]);
}

/** Encoders differ in what they leave as it is (RFC 3986, WHATWG, Python's quote, form data) and in the case of hex. */
function urlForms(bytes: Buffer): string[] {
  // Half a surrogate pair cannot be encoded; as bytes it already is a replacement character.
  const text = bytes.toString('utf8');
  const url = encodeURIComponent(text);
  const strict = url.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams({ '': text }).toString().slice(1);
  const bases = [url, strict, form, encodeURI(text), ...[url, strict].map((base) => base.replaceAll('%2F', '/'))];
  const spaced = bases.flatMap((base) => [base, base.replaceAll('%20', '+')]);
  return spaced.flatMap((base) => [base, base.replace(/%../g, (hex) => hex.toLowerCase())]);
}

/**
 * Within a longer text the value begins at one of three places of a base64 group: for each, the characters that do
 * not depend on its neighbours, and all to the end where nothing follows.
 */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const toEnd = padded.toString('base64').slice(Math.ceil((offset * 8) / 6));
    const unpadded = toEnd.replace(/=+$/, '');
    const core = unpadded.slice(0, Math.floor((padded.length * 8) / 6) - Math.ceil((offset * 8) / 6));
    return [toEnd, unpadded, core].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
  });
}
