import { isRecord, type Json } from '../shared/json.js';

/** What one person said to a gate. Those of rows from before there were edits are approvals, or the one rejection. */
export interface Vote {
  /** The person's id, or the actor's where there is no person behind it. */
  readonly who: string;
  readonly label: string;
  readonly at: string;
  readonly decision: 'approve' | 'reject';
  readonly note?: string | null;
  readonly form?: Json;
  readonly edits?: Readonly<Record<string, Json>>;
  /** What the request named: the one gate (by its digest or by a link), or a round. Missing where it named neither. */
  readonly named?: 'gate' | number;
}

/** A decision takes both keys: where both are given, both are kept. */
export function noteOf({ note, reason }: { note?: string | undefined; reason?: string | undefined }): string | null {
  const texts = new Set([note, reason].filter((text) => text !== undefined));
  return texts.size === 0 ? null : [...texts].join('\n\n');
}

export function readVotes(votes: Json): readonly Vote[] {
  const list = Array.isArray(votes) ? votes.filter(isRecord) : [];
  return list.map((vote) => ({ decision: 'approve', ...vote })) as unknown as Vote[];
}

/** One vote a person: a later one takes the place of the earlier. */
export function withVote(votes: readonly Vote[], vote: Vote): readonly Vote[] {
  return [...votes.filter((other) => other.who !== vote.who), vote];
}

/** How many distinct persons have approved; a rejection is none of them. */
export function approvalsIn(votes: readonly Vote[]): number {
  return votes.filter((vote) => vote.decision === 'approve').length;
}
