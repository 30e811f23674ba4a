import type { Sql } from '../../platform/db/contract.js';
import { toJson } from '../../shared/exact-json.js';
import type { Caller } from '../../shared/roles.js';

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
