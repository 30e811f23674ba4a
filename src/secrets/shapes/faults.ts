/** The maximum size of a secret, in bytes. */
export const MAX_BYTES = 64 * 1024;
/** Shorter values occur in too many texts to be redacted. */
const MIN_CHARACTERS = 6;

/** The first sentence of what is wrong; null when nothing is. */
export function firstFault(...faults: readonly (string | null)[]): string | null {
  return faults.find((fault) => fault !== null) ?? null;
}

/** The fault of a text that is empty, too large or not a single line. */
export function lineFault(what: string, text: string): string | null {
  return firstFault(textFault(what, text), controlFault(what, text));
}

export function textFault(what: string, text: string): string | null {
  if (text.trim() === '') return `${what} is empty: give its text`;
  if (Buffer.byteLength(text, 'utf8') > MAX_BYTES) return `${what} is over 64 KiB: a secret holds no more`;
  return text.includes('\0') ? `${what} holds a NUL character, which no variable and no header can carry` : null;
}

function controlFault(what: string, text: string): string | null {
  if (/[\r\n]/.test(text)) {
    return `${what} has a line break: it is one line; check the end of what you pasted, and store a longer text as a file`;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
  return /[\u0000-\u001f\u007f]/.test(text) ? `${what} holds a control character: give its text without it` : null;
}

/** A value must be long enough that redacting it does not hit other text. */
export function shortFault(what: string, text: string): string | null {
  if (text.trim().length >= MIN_CHARACTERS) return null;
  return `${what} has fewer than ${MIN_CHARACTERS} characters, too few to be kept out of what programs print: use a longer one`;
}

/** A value that a header can carry (RFC 9110, 5.5): printable ASCII, and blanks within. */
export function headerFault(what: string, text: string): string | null {
  if (text !== text.trim()) return `${what} begins or ends with a blank, which no header carries: take it away`;
  if (/^[\x20-\x7e]*$/.test(text)) return null;
  return `${what} holds a character that no header can carry: use letters, digits and signs of ASCII`;
}

export function urlFault(what: string, text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['https:', 'http:'].includes(url.protocol))
    return `${what} is not a valid URL: give one with https://`;
  return url.username === '' && url.password === '' ? null : `${what} holds a password: give the address without it`;
}
