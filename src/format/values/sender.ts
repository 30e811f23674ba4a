import { isEmail } from '../../shared/email.js';

/** True for a sender that `from:` can name: `ada@acme.com`, or `@acme.com` for all addresses of the domain. */
export function isSender(text: string): boolean {
  return !text.includes('*') && isEmail(text.startsWith('@') ? `a${text}` : text);
}
