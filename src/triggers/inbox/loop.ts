import { addressOf, type InboundMail } from './mail.js';

const BULK = /^(bulk|junk|list|auto_reply)$/i;
const BOUNCER = /^(mailer-daemon|postmaster)@/;

/**
 * Why a mail must start no run: a program sent it as an answer to another mail (RFC 3834), and the flow's answer would
 * start an endless loop. Null for a person's mail. `own` is the sender address of this service.
 */
export function loopOf(mail: InboundMail, own: string | null): string | null {
  const header = (name: string) => (mail.headers[name] ?? '').trim();
  const submitted = header('auto-submitted').split(';')[0]?.trim().toLowerCase() ?? '';
  if (submitted !== '' && submitted !== 'no') return `a program sent it (Auto-Submitted: ${submitted})`;
  const precedence = header('precedence');
  if (BULK.test(precedence)) return `it was not sent by a person (Precedence: ${precedence})`;
  if (header('x-autoreply') !== '' || header('x-autorespond') !== '') return 'it is an automatic reply';
  if (mail.envelopeFrom === '' || header('return-path') === '<>') return 'it is a bounce (it has no return path)';
  if (/^multipart\/report\b/i.test(header('content-type'))) return 'it is a report of delivery';
  const from = addressOf(mail.from);
  if (from !== null && BOUNCER.test(from)) return `it is a bounce (${from})`;
  if (from !== null && own !== null && from === addressOf(own)) return 'this service sent it';
  return null;
}
