import { createHash } from 'node:crypto';
import type { Sql } from '../../db/contract.js';
import { canonicalJson, isRecord, type Json } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import type { OpenPark } from '../run-rows.js';
import { readWork } from '../step-work.js';
import { readVotes } from '../votes.js';

type Decided = Pick<OpenPark, 'id' | 'spec' | 'votes'>;

/**
 * SHA-256, hex, of all that a decision is about: what the gate asks, its form and its calls, the work that it lets a
 * decider change, and what earlier deciders make of that. Who has decided so far is no part of it.
 */
export async function gateDigest(sql: Sql, runId: string, { id, spec, votes }: Decided): Promise<string> {
  const edit = isRecord(spec) && Array.isArray(spec.edit) ? spec.edit.map(String) : [];
  const work = edit.length === 0 ? new Map() : await readWork(sql, runId, edit);
  const made = Object.fromEntries([...work].map(([step, { result, data }]) => [step, { result, data }]));
  const edits = readVotes(votes).flatMap((vote) => vote.edits ?? []);
  return createHash('sha256')
    .update(canonicalJson([id, spec, made, edits] as unknown as Json))
    .digest('hex');
}

/** Refuses a decision about what the gate no longer shows. */
export async function assertUnchanged(
  sql: Sql,
  { run, park, digest }: { readonly run: { readonly id: string }; readonly park: Decided; readonly digest: string },
): Promise<void> {
  if ((await gateDigest(sql, run.id, park)) === digest) return;
  throw new Refusal('conflict', 'what is to be decided has changed since you were shown it: review again', {
    code: 'changed',
  });
}
