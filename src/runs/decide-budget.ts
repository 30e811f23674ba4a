import { appendEvent, type BudgetGate, enqueueOutbox, isBudgetGate } from '../engine/index.js';
import type { Sql } from '../platform/db/contract.js';
import { isRecord, type Json } from '../shared/json.js';
import type { Actor } from '../shared/roles.js';

/** What a gate asks about a budget; null for every other gate. */
export function budgetOf(spec: Json): BudgetGate | null {
  const budget = isRecord(spec) ? (spec.budget as Json) : null;
  return isBudgetGate(budget) ? budget : null;
}

export interface BudgetDecision {
  readonly runId: string;
  readonly park: string;
  readonly budget: BudgetGate;
  readonly decision: 'approve' | 'reject';
  readonly actor: Actor;
  readonly note: string | null;
  readonly votes: Json;
  /** The text of the trace, and the channel of the decision. */
  readonly text: string;
  readonly via: string;
}

/**
 * Applies a decision about a budget, in its transaction. An approval raises the budget once, however many gates wait
 * for it, and decides all of those gates, in this run and in others of its tree. Returns the other runs that continue.
 */
export async function decideBudget(sql: Sql, decided: BudgetDecision): Promise<readonly string[]> {
  const { budget, decision } = decided;
  if (decision === 'approve' && budget.runId !== null && budget.raiseNano !== null) {
    await sql.query(
      'UPDATE run SET budget_nano = budget_nano + $2::bigint WHERE id = $1 AND finished_at IS NULL AND budget_nano IS NOT NULL',
      [budget.runId, budget.raiseNano],
    );
  }
  const others = await sql.query<OtherGate>(
    `SELECT p.id, p.run_id AS run, p.step, p.item, p.round FROM park p JOIN run r ON r.id = p.run_id
      WHERE r.root_id = (SELECT root_id FROM run WHERE id = $1) AND p.id <> $2
        AND p.kind = 'approval' AND p.decided_at IS NULL AND p.spec->'budget'->>'key' = $3
      ORDER BY p.run_id, p.id`,
    [decided.runId, decided.park, budget.key],
  );
  for (const gate of others) await decideToo(sql, gate, decided);
  return [...new Set(others.map(({ run }) => run))];
}

interface OtherGate {
  readonly id: string;
  readonly run: string;
  readonly step: string;
  readonly item: number;
  readonly round: number;
}

async function decideToo(sql: Sql, gate: OtherGate, decided: BudgetDecision): Promise<void> {
  const { decision, actor, note, votes, text, via } = decided;
  const [run] = await sql.query('SELECT 1 FROM run WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [gate.run]);
  if (!run) return;
  const closed = await sql.query(
    `UPDATE park SET votes = $2, decided_at = now(), decision = $3, decided_by = $4, note = $5
      WHERE id = $1 AND decided_at IS NULL RETURNING 1`,
    [gate.id, JSON.stringify(votes), decision, JSON.stringify(actor), note],
  );
  if (closed.length === 0) return;
  const { step, item, round, id: park } = gate;
  const data = { step, item, round, park, decision, text, by: actor.label, via, note, with: decided.park };
  await appendEvent(sql, gate.run, { type: 'approval.decided', data, gates: -1 });
  await enqueueOutbox(sql, gate.run, 'approval', gate.id);
}
