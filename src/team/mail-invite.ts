import type { Deps } from '../deps.js';
import { escapeHtml, type MailOutcome, sendMail } from '../mail/index.js';
import { plainText } from './plain-text.js';

interface InviteMail {
  readonly id: string;
  readonly tenant: string;
  readonly to: string;
  /** The address of the member who invites. */
  readonly from: string;
  readonly role: string;
  readonly link: string;
}

/** Mails an invite to its address. */
export async function mailInvite(deps: Deps, { id, tenant, to, from, role, link }: InviteMail): Promise<MailOutcome> {
  const [account] = await deps.db.query<{ name: string }>('SELECT name FROM tenant WHERE id = $1', [tenant]);
  const name = plainText(account?.name ?? tenant);
  const subject = `${plainText(from)} invites you to ${name} on Signalbox`;
  const article = role === 'viewer' ? 'a' : 'an';
  const what = `${plainText(from)} invites you to join ${name} as ${article} ${role}.`;
  const rest = `Only ${to} can accept, within seven days. If you expected no invite, leave it.`;
  return sendMail(deps, tenant, {
    id: `invite-${id}`,
    to,
    subject,
    text: `${what}\n\nAccept it here:\n${link}\n\n${rest}\n`,
    html: `<p>${escapeHtml(what)}</p><p><a href="${escapeHtml(link)}">Accept the invite</a></p><p>${escapeHtml(rest)}</p>`,
  });
}
