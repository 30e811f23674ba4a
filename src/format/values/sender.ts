import { isEmail } from '../../shared/email.js';

/** Whether mail can be from it, as `from:` names senders: `ada@acme.com`, or `@acme.com` for everybody there. */
export function isSender(text: string): boolean {
  return !text.includes('*') && isEmail(text.startsWith('@') ? `a${text}` : text);
}
