import { isRecord, type Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { type Actor, atLeast, type Caller, isRole } from '../shared/roles.js';

/** The part of a GateSpec that says who may decide. */
export interface DecidersOf {
  readonly approvers: readonly string[];
  readonly self: boolean;
  readonly escalate: { readonly afterMs: number; readonly to: string } | null;
}

export interface GateMoment {
  readonly gate: DecidersOf;
  readonly openedAtMs: number;
  readonly nowMs: number;
  /** The id of the person who started the run; null for hooks, schedules and events. */
  readonly starter: string | null;
}

type Decider = Pick<Caller, 'role' | 'person' | 'actor'>;

/**
 * The rule of who may decide, for every channel. `human` is any editor or above, and an API key of that role. `owner`,
 * `role:<role>` and addresses name people: a signed-in person or their link decides, never a key. With `self: false`
 * the person who started the run may not decide.
 */
export function mayDecide(moment: GateMoment, caller: Decider): boolean {
  const { gate, starter } = moment;
  if (!gate.self && starter !== null && caller.person?.id === starter) return false;
  return decidersAt(moment).some((who) => isApprover(who, caller));
}

/** Who may decide now: the deciders that the gate names, and after the escalation time also its escalation target. */
export function decidersAt({ gate, openedAtMs, nowMs }: Omit<GateMoment, 'starter'>): readonly string[] {
  const { approvers, escalate } = gate;
  return escalate && nowMs - openedAtMs >= escalate.afterMs ? [...approvers, escalate.to] : approvers;
}

function isApprover(who: string, caller: Decider): boolean {
  if (who === 'human') return atLeast(caller.role, 'editor');
  if (caller.actor.kind === 'key' || caller.person === null) return false;
  if (who === 'owner') return caller.role === 'owner';
  const role = who.startsWith('role:') ? who.slice('role:'.length) : null;
  if (role !== null) return isRole(role) && atLeast(caller.role, role);
  return caller.person.email.toLowerCase() === who.toLowerCase();
}

/** Refuses a caller who may not decide, and says who may. */
export function assertMayDecide(moment: GateMoment, caller: Caller): Actor {
  if (mayDecide(moment, caller)) return caller.actor;
  const who = decidersAt(moment).join(' or ');
  const but = moment.gate.self ? '' : ', but not the one who started the run';
  // A key of an owner has the role admin.
  const role = caller.role === 'admin' ? 'owner' : caller.role;
  const asPerson = { ...caller, role, actor: { ...caller.actor, kind: 'person' } } as const;
  const signIn =
    caller.actor.kind === 'key' && mayDecide(moment, asPerson)
      ? ', signed in or by their link: an API key decides gates of `approve: human` only'
      : '';
  throw new Refusal('forbidden', `this gate is decided by ${who}${but}${signIn}`, { need: who });
}

/** One person's vote on a gate. Votes of older builds, without edits, are approvals or the one rejection. */
export interface Vote {
  /** The person's id, or the actor's id when there is no person. */
  readonly who: string;
  readonly label: string;
  readonly at: string;
  readonly decision: 'approve' | 'reject';
  readonly note?: string | null;
  readonly form?: Json;
  readonly edits?: Readonly<Record<string, Json>>;
  /** What the request named: this gate (by digest or link) or a round. Missing when it named neither. */
  readonly named?: 'gate' | number;
}

/** A decision may carry `note`, `reason` or both; both are kept. */
export function noteOf({ note, reason }: { note?: string | undefined; reason?: string | undefined }): string | null {
  const texts = new Set([note, reason].filter((text) => text !== undefined));
  return texts.size === 0 ? null : [...texts].join('\n\n');
}

export function readVotes(votes: Json): readonly Vote[] {
  const list = Array.isArray(votes) ? votes.filter(isRecord) : [];
  return list.map((vote) => ({ decision: 'approve', ...vote })) as unknown as Vote[];
}

/** One vote per person: a later one replaces the earlier. */
export function withVote(votes: readonly Vote[], vote: Vote): readonly Vote[] {
  return [...votes.filter((other) => other.who !== vote.who), vote];
}

/** How many people have approved; rejections do not count. */
export function approvalsIn(votes: readonly Vote[]): number {
  return votes.filter((vote) => vote.decision === 'approve').length;
}
