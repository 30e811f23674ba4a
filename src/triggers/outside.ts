import type { Caller } from '../shared/roles.js';

export const TRIGGER_KINDS = ['webhook', 'email', 'event'] as const;
/** How a flow starts without a caller of the API. */
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

/** The caller of a run that a delivery starts: not a person, and used only to start it. */
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
