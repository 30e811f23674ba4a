import type { Sql } from '../../db/contract.js';
import type { Caller, Role } from '../../shared/roles.js';
import { type GateOf, WEBHOOK } from './approve-link.js';
import { readTargets } from './told-by.js';

interface MemberRow {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly inScope: boolean;
}

/** Of the roles only this one decides no gate by itself: it is an address alone. */
const NO_ROLE = 'viewer';

/**
 * The one a link acts for. A member is themselves, with their role of now, so that they count once, whichever door
 * they take, and a member who was removed or narrowed is none. Whom `notify` names besides was given the decision by
 * those who wrote it, as an editor's; anybody else is their address and no more.
 */
export async function linkCaller(sql: Sql, link: GateOf, address: string | null): Promise<Caller> {
  const { tenant, to } = link;
  const common = { tenant, workspaces: null, signedIn: false, address };
  const targets = await readTargets(sql, link.runId);
  if (to === WEBHOOK) {
    const actor = { kind: 'link', id: WEBHOOK, label: WEBHOOK } as const;
    return { ...common, role: targets.url === null ? NO_ROLE : 'editor', actor, person: null };
  }
  const member = await findMember(sql, link);
  if (member) {
    const actor = { kind: 'link', id: member.id, label: member.email } as const;
    const role = member.inScope ? member.role : NO_ROLE;
    return { ...common, role, actor, person: { id: member.id, email: member.email } };
  }
  const id = `link:${to.toLowerCase()}`;
  const isTold = targets.emails.some((email) => email.toLowerCase() === to.toLowerCase());
  const role = isTold ? 'editor' : NO_ROLE;
  return { ...common, role, actor: { kind: 'link', id, label: to }, person: { id, email: to } };
}

/** Scopes name workspaces by what they are called: the run's is read in the same look, so that a rename is before it or after. */
async function findMember(sql: Sql, { tenant, runId, to }: GateOf): Promise<MemberRow | undefined> {
  const [member] = await sql.query<MemberRow>({
    name: 'find-link-member',
    text: `SELECT m.id, m.email, CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END AS role,
        m.all_workspaces OR w.name = ANY(with_previews(m.tenant_id, m.workspaces)) AS "inScope"
      FROM member m JOIN tenant t ON t.id = m.tenant_id
      JOIN run r ON r.id = $3 AND r.tenant_id = m.tenant_id JOIN workspace w ON w.id = r.workspace_id
      WHERE m.tenant_id = $1 AND lower(m.email) = lower($2)`,
    values: [tenant, to, runId],
  });
  return member;
}
