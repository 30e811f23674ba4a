import type { Invited } from '../contract/team.js';
import type { Deps } from '../deps.js';
import { type CreateInviteInput, createInvite } from '../people/index.js';
import { baseUrlOf } from '../shared/base-url.js';
import type { Caller } from '../shared/roles.js';
import { escapeHtml, type MailOutcome, sendMail } from './mail.js';

interface InviteMail {
  readonly id: string;
  readonly tenant: string;
  readonly to: string;
  /** The address of the member who invites. */
  readonly from: string;
  readonly role: string;
  readonly link: string;
}

const NOT_ASKED = { sent: false, reason: 'not asked for: pass the link on yourself' } as const;

/** Invites one address, and mails the link on request. The response has the link whether or not it was mailed. */
export async function inviteMember(
  deps: Deps,
  caller: Caller,
  { send, ...input }: CreateInviteInput & { readonly send: boolean },
): Promise<Invited> {
  const { invite, token } = await createInvite(deps, caller, input);
  const { id, email: to, role } = invite;
  const link = `${baseUrlOf(deps.config)}/join?token=${token}`;
  const mail = { id, tenant: caller.tenant, to, from: caller.actor.label, role, link };
  const outcome = send ? await mailInvite(deps, mail) : NOT_ASKED;
  const reason = outcome.sent ? {} : { reason: outcome.reason };
  return { ...invite, link, sent: outcome.sent, ...reason };
}

/** Mails an invite to its address. */
async function mailInvite(deps: Deps, { id, tenant, to, from, role, link }: InviteMail): Promise<MailOutcome> {
  const account = await deps.db.prisma.tenant.findFirst({ select: { name: true }, where: { id: tenant } });
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

/** Reduces a name to one line without control characters, so that it cannot start a header or a paragraph of a mail. */
function plainText(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 200);
}
