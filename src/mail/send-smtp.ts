import { createTransport } from 'nodemailer';
import { errorMessage } from '../shared/refusal.js';
import type { Mail, MailOutcome } from './send-mail.js';

const TIMEOUT_MS = 15_000;

/** Sends one mail through the operator's SMTP server. Its text is all there is of it: nothing is read from files or fetched. */
export async function sendSmtp(url: string, from: string, { id, to, subject, text, html }: Mail): Promise<MailOutcome> {
  const transport = createTransport({
    url,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const domain = /@([^\s@>]+)>?$/.exec(from)?.[1] ?? 'localhost';
    await transport.sendMail({
      from,
      to: { name: '', address: to },
      subject,
      text,
      html,
      messageId: `<${id}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
    return { sent: true };
  } catch (error) {
    return { sent: false, reason: `the mail server did not take it: ${errorMessage(error).slice(0, 300)}` };
  } finally {
    transport.close();
  }
}
