import type { AuditList, AuditQuery } from '../../contract/audit.js';
import type { Deps } from '../../deps.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { numberCursors } from '../../shared/cursor.js';
import { toJson } from '../../shared/exact-json.js';
import { Refusal } from '../../shared/refusal.js';
import type { Actor, Caller } from '../../shared/roles.js';

/** Writes an audit entry in the transaction of the audited change. */
export async function audit(
  sql: Sql,
  caller: Pick<Caller, 'tenant' | 'actor' | 'address'>,
  action: string,
  target: string,
  detail: object | null = null,
): Promise<void> {
  await sql.query({
    name: 'audit',
    text: 'INSERT INTO audit_entry (tenant_id, actor, action, target, address, detail) VALUES ($1, $2, $3, $4, $5, $6)',
    values: [caller.tenant, toJson(caller.actor), action, target, caller.address, detail && toJson(detail)],
  });
}

const cursors = numberCursors('audit', 18);

interface Row extends Pick<TableRow<'AuditEntry'>, 'id' | 'at' | 'action' | 'target' | 'address' | 'detail'> {
  readonly actor: Actor;
}

/**
 * The audit, newest first. The cursor is the last id of the previous page. It covers every workspace, so a caller whose
 * access is limited to some workspaces is refused.
 */
export async function listAudit(deps: Pick<Deps, 'db'>, caller: Caller, query: AuditQuery): Promise<AuditList> {
  if (caller.workspaces !== null)
    throw new Refusal('forbidden', 'the audit covers every workspace, and your access is limited to some', {
      need: 'every workspace',
    });
  const { limit, cursor, action, actor, target, since, until } = query;
  const rows = await deps.db.query<Row>({
    name: 'list-audit',
    text: `SELECT id, at, actor, action, target, address, detail FROM audit_entry
           WHERE tenant_id = $1 AND ($2::bigint IS NULL OR id < $2)
             AND ($3::text IS NULL OR action = $3 OR starts_with(action, $3 || '.'))
             AND ($4::text IS NULL OR actor->>'id' = $4 OR lower(actor->>'label') = lower($4))
             AND ($5::text IS NULL OR target = $5)
             AND ($6::timestamptz IS NULL OR at >= $6) AND ($7::timestamptz IS NULL OR at < $7)
           ORDER BY id DESC LIMIT $8`,
    values: [caller.tenant, cursors.read(cursor), action, actor, target, since, until, limit + 1].map((v) => v ?? null),
  });
  const { page, next } = cursors.page(rows, limit, ({ id }) => id);
  return { entries: page.map(({ id, at, ...row }) => ({ ...row, id: String(id), at: at.toISOString() })), next };
}
