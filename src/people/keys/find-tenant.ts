import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';

/** A caller belongs to one account; another one is refused as missing. */
export function requireOwnTenant(caller: Pick<Caller, 'tenant'>, tenant: string | undefined): void {
  if (tenant !== undefined && tenant !== caller.tenant) throw notFound('account');
}
