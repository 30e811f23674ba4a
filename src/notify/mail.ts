import { createTransport } from 'nodemailer';
import type { Deps } from '../deps.js';
import { readText } from '../secrets/index.js';
import { isLoopback } from '../shared/is-loopback.js';
import { errorMessage } from '../shared/refusal.js';

/** Marks the mail as sent by a program, so that auto-responders stay silent (RFC 3834). */
const MAIL_HEADERS = { 'Auto-Submitted': 'auto-generated' } as const;

const SMTP_TIMEOUT_MS = 15_000;

/** The account's key for its mail provider. */
const SECRET = 'EMAIL_API_KEY';

const TIMEOUT_MS = 10_000;

/** The statuses that reject the mail itself, not the key or the quota. */
const FINAL = new Set([400, 413, 422]);

/**
 * Sends one mail through the HTTP API of the account's mail provider, with the account's own key. The wire format is
 * Resend's (https://resend.com/docs/api-reference/emails/send-email): a bearer key, and JSON of from, to, subject, text
 * and html. An account without a key uses the operator's SMTP server, if there is one. Never throws: a failure is the
 * outcome, as a sentence for people.
 */
export async function sendMail(deps: Deps, tenant: string, mail: Mail): Promise<MailOutcome> {
  const { apiUrl, from, smtpUrl } = deps.config.email;
  if (from === null) return failed('this service has no sender: the operator sets SERVICE_EMAIL_FROM');
  const key = await keyOf(deps, tenant);
  if ('none' in key) {
    if (smtpUrl !== null) return sendSmtp(smtpUrl, from, mail);
    return failed(`the account has no mail key: store it as the secret ${SECRET}`);
  }
  if ('reason' in key) return key;
  const { id, to, subject, text, html } = mail;
  const answer = await deps.net.request({
    url: apiUrl,
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json', 'idempotency-key': id },
    body: JSON.stringify({ from, to: [to], subject, text, html, headers: MAIL_HEADERS }),
    httpsOnly: true,
    redirects: 0,
    timeoutMs: TIMEOUT_MS,
  });
  if (answer.kind === 'fault') return failed(`the mail provider cannot be reached: ${answer.message}`);
  if (answer.status >= 200 && answer.status < 300) return { sent: true };
  const hint = answer.status === 401 || answer.status === 403 ? `: check the secret ${SECRET}` : '';
  return failed(`the mail provider answered ${answer.status}${hint}`, FINAL.has(answer.status));
}

type Key = { readonly key: string } | { readonly none: true } | (MailOutcome & { sent: false });

async function keyOf(deps: Deps, tenant: string): Promise<Key> {
  try {
    const found = await readText(deps, { tenant, workspace: null, name: SECRET });
    if (found.kind === 'text') return { key: found.text };
    if (found.kind === 'missing') return { none: true };
    return failed(`the secret ${SECRET} ${found.why}: store it again, as value or api`);
  } catch {
    return failed(`the secret ${SECRET} cannot be decrypted: store it again`);
  }
}

function failed(reason: string, final = false): MailOutcome & { sent: false } {
  return { sent: false, reason, final };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Sends one mail through the operator's SMTP server. The mail has inline text only: nothing is read from files or
 * fetched.
 */
async function sendSmtp(url: string, from: string, { id, to, subject, text, html }: Mail): Promise<MailOutcome> {
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
    const reason = `the mail server did not accept it: ${errorMessage(error).slice(0, 300)}`;
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

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for each try, so that a provider that knows it sends the mail only once. */
  readonly id: string;
}

export type MailOutcome =
  | { readonly sent: true }
  /** `final`: the mail will never be accepted, so no retry. */
  | { readonly sent: false; readonly reason: string; readonly final: boolean };

/** Escapes a text for an HTML element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ENTITIES[mark] ?? mark);
}
