/** Shorter values would be found everywhere: redacting "on" or "1234" out of a text destroys it and hides nothing. */
const MIN_LENGTH = 6;

/**
 * The encodings in which a secret's text may occur, each with whether it may hold line breaks: base64 and hex come in
 * lines of 60 to 76 characters. None is under 6 characters.
 */
export function formsOf(value: string): Map<string, boolean> {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const plain = [value, value.trim(), ...(lines.length > 1 ? lines.filter((line) => line.length >= 16) : [])];
  const texts = plain.filter((text) => text.length >= MIN_LENGTH);
  const forms = [
    ...texts.flatMap(spellingsOf).map((form) => [form, false] as const),
    ...texts.flatMap(codesOf).map((form) => [form, true] as const),
  ];
  return new Map(forms.filter(([form]) => form.length >= MIN_LENGTH));
}

function codesOf(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  const hex = bytes.toString('hex');
  return [hex, hex.toUpperCase(), ...base64Forms(bytes)];
}

function spellingsOf(text: string): string[] {
  return [text, ...jsonForms(text), ...urlForms(Buffer.from(text, 'utf8')), ...markupForms(text)];
}

/**
 * Characters that JSON encoders escape as `\uXXXX` without need, and whether the hex is upper case. PHP also escapes
 * slashes.
 */
const JSON_ESCAPED: readonly (readonly [signs: RegExp, upper: boolean])[] = [
  [/(?!)/, false],
  // Python, PHP; Go, Rails; .NET.
  [/[^ -~]/, false],
  [/[^ -~]/, true],
  [/[&<>\u2028\u2029]/, false],
  [/[^ -~]|["&'+<>`]/, true],
];

function jsonForms(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  return JSON_ESCAPED.flatMap(([signs, upper]) => {
    const form = plain.replace(/\\.|[^\\]/g, (written) => {
      const sign = written === '\\"' ? '"' : written;
      if (sign.length > 1 || !signs.test(sign)) return written;
      const hex = sign.charCodeAt(0).toString(16).padStart(4, '0');
      return `\\u${upper ? hex.toUpperCase() : hex}`;
    });
    return [form, form.replaceAll('/', '\\/')];
  });
}

/** How HTML and XML write `"` and `'`, where they do not leave them as they are. */
const QUOTES = [
  ['"', "'"],
  ['&quot;', "'"],
  ['&quot;', '&#39;'],
  ['&quot;', '&#039;'],
  ['&quot;', '&#x27;'],
  ['&quot;', '&apos;'],
  ['&#34;', '&#39;'],
] as const;

function markupForms(text: string): string[] {
  const plain = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return QUOTES.map(([double, single]) => plain.replaceAll('"', double).replaceAll("'", single));
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
 * In a longer text the value begins at one of three offsets of a base64 group. For each: the characters that do not
 * depend on its neighbours, and all of them for a value at the end.
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
