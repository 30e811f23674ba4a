import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';

/** The workspaces that a member can access, by name; null means all. */
export type Scope = readonly string[] | null;

export interface ScopeColumns {
  readonly allWorkspaces: boolean;
  readonly workspaces: readonly string[];
}

export function scopeOf({ allWorkspaces, workspaces }: ScopeColumns): Scope {
  return allWorkspaces ? null : workspaces;
}

export function columnsOf(scope: Scope): ScopeColumns {
  return { allWorkspaces: scope === null, workspaces: scope ?? [] };
}

/** True when `outer` includes all of `inner`. */
export function covers(outer: Scope, inner: Scope): boolean {
  return outer === null || (inner?.every((name) => outer.includes(name)) ?? false);
}

/** The part of a scope that the caller may see, without the workspaces that the caller cannot access. */
export function scopeAsSeen(caller: Pick<Caller, 'workspaces'>, scope: Scope): string[] | null {
  const seen = caller.workspaces;
  return scope === null ? null : scope.filter((name) => seen === null || seen.includes(name));
}

/**
 * The scope that the caller gives to another member: existing workspaces without duplicates, and no more than the
 * caller has. A workspace that the caller cannot access is refused as missing. The rows stay locked until the
 * transaction ends, so that a concurrent delete of a workspace finds the new member.
 */
export async function grantableScope(sql: Sql, caller: Caller, wish: Scope): Promise<Scope> {
  if (wish === null) {
    if (caller.workspaces === null) return null;
    throw accessLimited('your access is limited to some workspaces: name the ones to give');
  }
  const names = [...new Set(wish)].sort();
  const rows = await sql.query<{ name: string }>(
    'SELECT name FROM workspace WHERE tenant_id = $1 AND name = ANY($2) FOR SHARE',
    [caller.tenant, names],
  );
  const seen = new Set(
    scopeAsSeen(
      caller,
      rows.map(({ name }) => name),
    ),
  );
  const missing = names.filter((name) => !seen.has(name));
  if (missing.length === 0) return names;
  throw new Refusal('refused', `workspaces: there is no workspace ${missing.join(', ')}`, {
    code: 'no-such-workspace',
  });
}

export function accessLimited(message: string): Refusal {
  return new Refusal('forbidden', message, { need: 'every workspace' });
}
