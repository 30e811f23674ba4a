import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/** A caller has one account; another one refuses as a missing one. */
export function requireOwnTenant(caller: Pick<Caller, 'tenant'>, tenant: string | undefined): void {
  if (tenant !== undefined && tenant !== caller.tenant) throw notFound('account');
}
