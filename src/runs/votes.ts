import { isRecord, type Json } from '../shared/json.js';

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
