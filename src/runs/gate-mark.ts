import { createHash } from 'node:crypto';
import type { GateMark } from '../contract/runs.js';
import type { Sql } from '../platform/db/contract.js';
import { canonicalJson, isRecord, type Json } from '../shared/json.js';
import { readVotes } from './may-decide.js';
import { readWork, type Work } from './step-work.js';

export interface MarkedGate {
  readonly id: string;
  readonly gateRound: number;
  readonly spec: Json;
  readonly votes: Json;
}

/** SQL: the `gateRound` of `park p`. */
export const GATE_ROUND = `(SELECT count(*)::int FROM park e WHERE e.run_id = p.run_id AND e.step = p.step AND e.item = p.item
    AND e.kind = p.kind AND (e.opened_at, e.id) <= (p.opened_at, p.id)) AS "gateRound"`;

/**
 * The digest covers what the gate asks, its form, its calls, the editable work and the edits of earlier deciders. It
 * does not cover who has decided so far. `work` holds the newest work of the steps in `edit`.
 */
export function gateMark({ id, gateRound, spec, votes }: MarkedGate, work: ReadonlyMap<string, Work>): GateMark {
  const made = Object.fromEntries(
    editableIn(spec).flatMap((step) => {
      const found = work.get(step);
      return found ? [[step, { result: found.result, data: found.data }]] : [];
    }),
  );
  const edits = readVotes(votes).flatMap((vote) => vote.edits ?? []);
  const shown = canonicalJson([id, spec, made, edits] as unknown as Json);
  return { round: gateRound, digest: createHash('sha256').update(shown).digest('hex') };
}

/** The gate's mark as this transaction sees it. */
export async function readGateMark(sql: Sql, runId: string, gate: MarkedGate): Promise<GateMark> {
  const edit = editableIn(gate.spec);
  return gateMark(gate, edit.length === 0 ? new Map() : await readWork(sql, runId, edit));
}

function editableIn(spec: Json): readonly string[] {
  return isRecord(spec) && Array.isArray(spec.edit) ? spec.edit.map(String) : [];
}
