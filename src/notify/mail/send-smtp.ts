import { createTransport } from 'nodemailer';
import { isLoopback } from '../../shared/is-loopback.js';
import { errorMessage } from '../../shared/refusal.js';
import { MAIL_HEADERS, type Mail, type MailOutcome } from './mail.js';

const SMTP_TIMEOUT_MS = 15_000;

/**
 * Sends one mail through the operator's SMTP server. The mail has inline text only: nothing is read from files or
 * fetched.
 */
export async function sendSmtp(url: string, from: string, { id, to, subject, text, html }: Mail): Promise<MailOutcome> {
  const transport = createTransport({
    url,
    connectionTimeout: SMTP_TIMEOUT_MS,
    greetingTimeout: SMTP_TIMEOUT_MS,
    socketTimeout: SMTP_TIMEOUT_MS,
    requireTLS: needsTls(url),
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
      headers: MAIL_HEADERS,
    });
    return { sent: true };
  } catch (error) {
    const reason = `the mail server did not take it: ${errorMessage(error).slice(0, 300)}`;
    return { sent: false, reason, final: isFinal(error) };
  } finally {
    transport.close();
  }
}

/** True when a password would cross a network. The server must then offer STARTTLS, which an attacker could strip. */
export function needsTls(url: string): boolean {
  const { protocol, username, hostname } = new URL(url);
  return protocol === 'smtp:' && username !== '' && !isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'));
}

/**
 * A reply 5yz to the recipient or the message is permanent (RFC 5321, 4.2.1). A reply 53z concerns the credentials, and
 * one to the sender's address the configuration: the operator can fix these, so they are retried, like a server that is
 * down.
 */
function isFinal(error: unknown): boolean {
  const { command, responseCode } = error as { readonly command?: unknown; readonly responseCode?: unknown };
  if (command !== 'RCPT TO' && command !== 'DATA') return false;
  return typeof responseCode === 'number' && responseCode >= 500 && Math.floor(responseCode / 10) !== 53;
}
