import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from './audit.js';

/** Ends one session of the calling person by its id, or all but the calling one. Returns how many ended. */
export async function endSessions(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  which: { readonly id: string } | 'others',
): Promise<number> {
  return deps.db.transaction(async (sql) => {
    if (which === 'others') return endOthers(sql, caller);
    const ended = await sql.query('DELETE FROM session WHERE id = $1 AND member_id = $2 RETURNING 1', [
      which.id,
      caller.person?.id ?? null,
    ]);
    if (ended.length === 0) throw notFound('session');
    await audit(sql, caller, 'session.end', which.id);
    return ended.length;
  });
}

export async function endOthers(sql: Sql, caller: Caller): Promise<number> {
  const ended = await sql.query('DELETE FROM session WHERE member_id = $1 AND id IS DISTINCT FROM $2 RETURNING 1', [
    caller.person?.id ?? null,
    caller.session ?? null,
  ]);
  if (ended.length > 0) await audit(sql, caller, 'session.end', 'others', { count: ended.length });
  return ended.length;
}

/** Ends the calling session, if the caller has one. */
export async function logOut(deps: Pick<Deps, 'db'>, caller: Caller): Promise<void> {
  const { session } = caller;
  if (session === undefined) return;
  await deps.db.transaction(async (sql) => {
    await sql.query('DELETE FROM session WHERE id = $1', [session]);
    await audit(sql, caller, 'session.end', session);
  });
}
