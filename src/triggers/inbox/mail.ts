import { isEmail } from '../../shared/email.js';

/** A received mail, independent of the provider's format. */
export interface InboundMail {
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The mail's own headers, by lower-case name, as far as the provider sends them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The return path; null when the provider does not send it. */
  readonly envelopeFrom: string | null;
  /** The provider's own id of the mail, used when there is no Message-ID. */
  readonly providerId: string | null;
  readonly attachments: readonly Attachment[];
  /** The parts that could not be read, as sentences. */
  readonly leftOut: readonly string[];
  /** The names of its fields when none of them is a body, and it has no file; null for a mail that can be read. */
  readonly unread: readonly string[] | null;
}

export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly content: Uint8Array;
}

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

/**
 * Whether mail from this address may start the flow: `from:` lists addresses and `@domain`s; without it every address
 * may.
 */
export function isAllowedSender(address: string | null, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  if (address === null) return false;
  const domain = address.slice(address.lastIndexOf('@'));
  return allowed.map((one) => one.trim().toLowerCase()).some((one) => one === address || one === domain);
}
