import { withoutAccess } from '../../people/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../../shared/roles.js';
import { type DecidersOf, mayDecide } from '../may-decide.js';
import { type GateOf, WEBHOOK } from './approve-link.js';
import { readTargets } from './notify-targets.js';

interface LinkMember extends Pick<TableRow<'Member'>, 'id' | 'email'> {
  readonly role: Role;
}

/** The part of a link's gate that says who may decide. */
export interface LinkGate {
  readonly workspaceId: string;
  readonly gate: DecidersOf;
}

/** The role of a recipient who is only an email address: it decides no gate by itself. */
const NO_ROLE = 'viewer';

/**
 * The caller that a link acts for, with their current rights. A member has their current role and counts once across
 * all channels. Refuses removed members, members who can no longer access the workspace or decide, and recipients that
 * neither the gate nor `notify` still names. An outsider that `notify` names decides as an editor; any other
 * outsider only where the gate names their address.
 */
export async function linkCaller(
  sql: Sql,
  link: GateOf & { readonly address: string | null },
  { workspaceId, gate }: LinkGate,
): Promise<Caller> {
  const { tenant, to, address } = link;
  const common = { tenant, workspaces: null, signedIn: false, address };
  const targets = await readTargets(sql, link.runId);
  if (to === WEBHOOK) {
    if (targets.url === null) throw noLongerAllowed(to);
    const actor = { kind: 'link', id: WEBHOOK, label: WEBHOOK } as const;
    return { ...common, role: 'editor', actor, person: null };
  }
  if ((await withoutAccess(sql, { tenant, workspaceId, emails: [to] })).size > 0) throw noLongerAllowed(to);
  const member = await findMember(sql, link);
  const isNotified = targets.emails.some((email) => email.toLowerCase() === to.toLowerCase());
  const caller = { ...common, ...(member ? asMember(member) : asOutsider(to, isNotified)) };
  if (!isNotified && !takesPart(gate, caller)) throw noLongerAllowed(to);
  return caller;
}

function asMember({ id, email, role }: LinkMember): Pick<Caller, 'role' | 'actor' | 'person'> {
  // The route for signed-in people requires an editor too, even if the gate names a viewer.
  if (!atLeast(role, 'editor')) throw noLongerAllowed(email);
  return { role, actor: { kind: 'link', id, label: email }, person: { id, email } };
}

function asOutsider(to: string, isNotified: boolean): Pick<Caller, 'role' | 'actor' | 'person'> {
  const id = `link:${to.toLowerCase()}`;
  return { role: isNotified ? 'editor' : NO_ROLE, actor: { kind: 'link', id, label: to }, person: { id, email: to } };
}

/**
 * True if the gate names the caller, now or after the escalation. Ignores that the starter of a run may be excluded.
 */
function takesPart(gate: DecidersOf, caller: Caller): boolean {
  return mayDecide({ gate: { ...gate, self: true }, openedAtMs: 0, nowMs: Number.MAX_VALUE, starter: null }, caller);
}

function noLongerAllowed(to: string): Refusal {
  return new Refusal(
    'forbidden',
    `this link was made for ${to}, who may not decide this gate: sign in to see the run`,
    {
      need: 'decider',
    },
  );
}

/** The member, with the role owner when the account's row names them. */
async function findMember(sql: Sql, { tenant, to }: GateOf): Promise<LinkMember | undefined> {
  const [member] = await sql.query<LinkMember>({
    name: 'find-link-member',
    text: `SELECT m.id, m.email, CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role
      FROM member m JOIN tenant t ON t.id = m.tenant_id WHERE m.tenant_id = $1 AND lower(m.email) = lower($2)`,
    values: [tenant, to],
  });
  return member;
}
