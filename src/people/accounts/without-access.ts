import type { Sql } from '../../platform/db/contract.js';

interface Asked {
  readonly tenant: string;
  /** The id of the workspace; null for the account. */
  readonly workspaceId: string | null;
  readonly emails: readonly string[];
}

/**
 * The addresses, in lower case, that have lost access: members who cannot access the workspace, and removed members. An
 * address that never belonged to a member is an outsider and not included.
 */
export async function withoutAccess(sql: Sql, { tenant, workspaceId, emails }: Asked): Promise<ReadonlySet<string>> {
  if (emails.length === 0) return new Set();
  const rows = await sql.query<{ email: string }>({
    name: 'without-access',
    text: `SELECT lower(a.email) AS email FROM unnest($3::text[]) AS a (email) JOIN tenant t ON t.id = $1
        LEFT JOIN workspace w ON w.id = $2 LEFT JOIN member m ON m.tenant_id = t.id AND lower(m.email) = lower(a.email)
      WHERE CASE WHEN m.id IS NULL
        THEN EXISTS (SELECT 1 FROM former_member f WHERE f.tenant_id = t.id AND f.email = lower(a.email))
        ELSE w.id IS NOT NULL AND t.owner_id <> m.id AND NOT m.all_workspaces
          AND w.name <> ALL (with_previews(m.tenant_id, m.workspaces)) END`,
    values: [tenant, workspaceId, emails],
  });
  return new Set(rows.map(({ email }) => email));
}
