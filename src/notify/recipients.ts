import type { Targets } from '../runs/index.js';
import { atLeast, isRole, type Role } from '../shared/roles.js';
import { EVENTS, type NotificationEvent } from './events.js';

export interface MemberOf {
  readonly email: string;
  readonly role: Role;
}

export interface Recipient {
  readonly channel: 'mail' | 'post';
  readonly target: string;
}

interface Selection {
  readonly event: NotificationEvent;
  readonly targets: Targets;
  /** The gate's deciders: `human`, `owner`, `role:<role>` or an address; empty without a gate. */
  readonly deciders: readonly string[];
  /** The members who can access the workspace. */
  readonly members: readonly MemberOf[];
  /** Addresses that are notified whatever `notify` says. */
  readonly extraEmails?: readonly string[];
  /** True for an escalation, which only the added decider receives. */
  readonly onlyDeciders: boolean;
}

/**
 * The recipients without duplicates: the `notify` targets, if `notify` includes the event, and the deciders of a gate.
 */
export function recipientsOf({
  event,
  targets,
  deciders,
  members,
  extraEmails = [],
  onlyDeciders,
}: Selection): readonly Recipient[] {
  const row = EVENTS[event];
  const isWanted = !onlyDeciders && (targets.events === null ? row.byDefault : targets.events.includes(event));
  const named = row.toDeciders ? deciders.flatMap((who) => addressesOf(who, members)) : [];
  const emails = new Map(
    [...(isWanted ? targets.emails : []), ...named, ...extraEmails].map((email) => [email.toLowerCase(), email]),
  );
  return [
    ...[...emails.values()].map((target) => ({ channel: 'mail' as const, target })),
    ...(isWanted && targets.url !== null ? [{ channel: 'post' as const, target: targets.url }] : []),
  ];
}

/** `human` names no address. A viewer cannot decide a gate, even one that names their address. */
function addressesOf(who: string, members: readonly MemberOf[]): readonly string[] {
  if (who === 'human') return [];
  const role = who === 'owner' ? 'owner' : who.startsWith('role:') ? who.slice('role:'.length) : null;
  if (role === null) {
    const member = members.find(({ email }) => email.toLowerCase() === who.toLowerCase());
    return member && !atLeast(member.role, 'editor') ? [] : [who];
  }
  return isRole(role) ? members.filter((member) => atLeast(member.role, role)).map(({ email }) => email) : [];
}
