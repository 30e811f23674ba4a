import type { SealedAt } from './seal.js';

/**
 * Where else than in the vault things are sealed. No secret has such a place: a secret's name holds no `/` and begins
 * with no digit.
 */
export function clientPlace({ tenant, id }: { readonly tenant: string; readonly id: string }): SealedAt {
  return { tenant, workspace: null, name: `oauth-client/${id}`, version: 1 };
}

export function statePlace({ tenant, hash }: { readonly tenant: string; readonly hash: string }): SealedAt {
  return { tenant, workspace: null, name: `oauth-state/${hash}`, version: 1 };
}

/** Of the token that belongs to this version of a secret. */
export function tokenPlace({ id, version }: { readonly id: string; readonly version: number }): SealedAt {
  return { tenant: 'live-token', workspace: null, name: id, version };
}
