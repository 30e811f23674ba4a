import { isEmail } from '../../shared/email.js';

/** No mail program writes a longer line for one address, and parsing takes quadratic time. */
const MAX_LINE = 2_000;

/**
 * The one address of a From line, in lower case; null when there is none, or more than one. A display name may contain
 * another address, so only the last angle brackets count, and only at the end of the line.
 */
export function addressOf(from: string): string | null {
  const text = from.trim();
  if (text.length > MAX_LINE) return null;
  const [, display = '', inner] = /^(.*)<([^<>]*)>$/s.exec(text) ?? [];
  if (inner !== undefined && /[<>]|,[^"]*$/.test(display.replace(/"(?:[^"\\]|\\.)*"/g, ''))) return null;
  const address = (inner ?? text).trim().toLowerCase();
  return isEmail(address) ? address : null;
}

/** Whether mail from this address may start the flow: `from:` lists addresses and `@domain`s; without it every address may. */
export function isAllowedSender(address: string | null, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  if (address === null) return false;
  const domain = address.slice(address.lastIndexOf('@'));
  return allowed.map((one) => one.trim().toLowerCase()).some((one) => one === address || one === domain);
}
