/** Shorter values would be found everywhere: redacting "on" or "1234" out of a text destroys it and hides nothing. */
const MIN_LENGTH = 6;

export interface Redactor {
  /** The text with every secret replaced by `[secret NAME]`. */
  text(text: string): string;
  /** For text that comes in pieces: a secret over a border is found too. `end` gives out what is held back. */
  stream(onText: (text: string) => void): { readonly write: (text: string) => void; readonly end: () => void };
  /** As `text`, for one whose middle was left out at `marks`: what may be a piece of a secret beside them goes as well. */
  cut(text: string, marks: RegExp): string;
}

/**
 * Takes secret values out of what programs say: as they are, line by line, as JSON strings, in base64 (both
 * alphabets, at any offset within a longer text), hex, and url-encoded. Values under 6 characters are left.
 */
export function redactor(secrets: ReadonlyMap<string, string>): Redactor {
  const names = new Map<string, string>();
  for (const [name, value] of secrets) {
    for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name);
  }
  const needles = [...names.keys()].sort((a, b) => b.length - a.length);
  if (needles.length === 0) return PLAIN;
  const pattern = new RegExp(needles.map((needle) => needle.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g');
  const text = (input: string) => input.replace(pattern, (found) => `[secret ${names.get(found) ?? ''}]`);
  return {
    text,
    stream: (onText) => streamThrough(text, needles, onText),
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

/** As `text` of a redactor, over bytes of any kind: those that hold no secret come back as they are. */
export function redactBytes(content: Buffer, secrets: ReadonlyMap<string, string>): Buffer {
  // Latin-1 gives every byte a character of its own, so that what is not text is not changed.
  const asBytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
  let text = content.toString('latin1');
  for (const [name, value] of secrets) {
    const forms = [...formsOf(value)].sort((a, b) => b.length - a.length);
    for (const form of forms) text = text.replaceAll(asBytes(form), () => asBytes(`[secret ${name}]`));
  }
  return Buffer.from(text, 'latin1');
}

const PLAIN: Redactor = {
  text: (text) => text,
  stream: (onText) => ({ write: onText, end: () => undefined }),
  cut: (text) => text,
};

function streamThrough(text: (input: string) => string, needles: readonly string[], onText: (text: string) => void) {
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
function overlapAtEnd(text: string, needles: readonly string[]): number {
  const longest = Math.min(text.length, (needles[0]?.length ?? 1) - 1);
  for (let length = longest; length > 0; length -= 1) {
    const end = text.slice(-length);
    if (needles.some((needle) => needle.length > length && needle.startsWith(end))) return length;
  }
  return 0;
}

function overlapAtStart(text: string, needles: readonly string[]): number {
  const longest = Math.min(text.length, (needles[0]?.length ?? 1) - 1);
  for (let length = longest; length > 0; length -= 1) {
    const start = text.slice(0, length);
    if (needles.some((needle) => needle.length > length && needle.endsWith(start))) return length;
  }
  return 0;
}

function formsOf(value: string): Set<string> {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const plain = [value, value.trim(), ...(lines.length > 1 ? lines.filter((line) => line.length >= 16) : [])];
  const forms = plain.filter((text) => text.length >= MIN_LENGTH).flatMap(encodingsOf);
  return new Set(forms.filter((form) => form.length >= MIN_LENGTH));
}

function encodingsOf(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  const hex = bytes.toString('hex');
  return [text, JSON.stringify(text).slice(1, -1), hex, hex.toUpperCase(), ...urlForms(bytes), ...base64Forms(bytes)];
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
