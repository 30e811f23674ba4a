import type { Sql } from '../db/contract.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/** The workspaces somebody sees, by name; null means all. */
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

/** True when whoever sees `outer` sees all of `inner`. */
export function covers(outer: Scope, inner: Scope): boolean {
  return outer === null || (inner?.every((name) => outer.includes(name)) ?? false);
}

/** As much of a scope as the caller may know of: names of workspaces they do not see are left out. */
export function scopeAsSeen(caller: Pick<Caller, 'workspaces'>, scope: Scope): string[] | null {
  const seen = caller.workspaces;
  return scope === null ? null : scope.filter((name) => seen === null || seen.includes(name));
}

/**
 * The scope that the caller gives to somebody: workspaces that are there, each once. Nobody gives more than they have,
 * and a workspace that the caller does not see is refused as one that is not there. They stay there until the transaction
 * ends, so that a delete finds whom it was given to.
 */
export async function grantableScope(sql: Sql, caller: Caller, wish: Scope): Promise<Scope> {
  if (wish === null) {
    if (caller.workspaces === null) return null;
    throw narrowed('you are narrowed to some workspaces: name those of them that you give');
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

export function narrowed(message: string): Refusal {
  return new Refusal('forbidden', message, { need: 'every workspace' });
}
