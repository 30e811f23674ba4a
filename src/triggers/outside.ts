import type { Caller } from '../shared/roles.js';

export const TRIGGER_KINDS = ['webhook', 'email', 'event'] as const;
/** The ways in which the outside, or the workspace itself, starts a flow without anybody who calls. */
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

/** Who acts when a delivery starts a flow: nobody of the account, so no person and no more than starting it. */
export function outside(kind: TriggerKind, at: { readonly tenant: string; readonly address: string | null }): Caller {
  return {
    tenant: at.tenant,
    role: 'editor',
    workspaces: null,
    actor: { kind: 'event', id: kind, label: kind },
    person: null,
    signedIn: false,
    address: at.address,
  };
}
