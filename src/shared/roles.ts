/** The roles in rising order; each may do what those before it may. */
export const ROLES = ['viewer', 'editor', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

export function atLeast(role: Role, need: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(need);
}

/** Who acts, as audit rows, decisions and revisions keep it. */
export interface Actor {
  readonly kind: 'person' | 'key' | 'link' | 'event' | 'agent' | 'clock' | 'system';
  readonly id: string;
  /** What people read: an email, a key's label, `schedule`. */
  readonly label: string;
}

/** The authenticated caller of a verb. */
export interface Caller {
  readonly tenant: string;
  readonly role: Role;
  /** Names of the workspaces that the caller's access is limited to; null means all. */
  readonly workspaces: readonly string[] | null;
  readonly actor: Actor;
  /** The person behind the call: the member, or the key's minter. Null for the system. */
  readonly person: { readonly id: string; readonly email: string } | null;
  /** True for a signed-in session, false for a key. */
  readonly signedIn: boolean;
  /** The session's id, when one was used to call. */
  readonly session?: string;
  readonly address: string | null;
}
