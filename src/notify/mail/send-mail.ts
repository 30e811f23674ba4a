import type { Deps } from '../../deps.js';
import { readText } from '../../secrets/index.js';
import { MAIL_HEADERS, type Mail, type MailOutcome } from './mail.js';
import { sendSmtp } from './send-smtp.js';

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
  if (answer.kind === 'fault') return failed(`the mail provider could not be asked: ${answer.message}`);
  if (answer.status >= 200 && answer.status < 300) return { sent: true };
  const hint = answer.status === 401 || answer.status === 403 ? `: look at the secret ${SECRET}` : '';
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
