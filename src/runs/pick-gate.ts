import type { Sql } from '../db/contract.js';
import { isRecord, type Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { budgetOf } from './decide-budget.js';
import { type LockedRun, type OpenPark, openParks, parkTitle } from './run-rows.js';

/** Which gate: the step's number, or the park itself. */
interface Meant {
  readonly step?: number | undefined;
  readonly park?: string | undefined;
}

/** The open gate that is meant. With two open and none named the caller has to say which. */
export async function pickGate(sql: Sql, run: LockedRun, which: Meant): Promise<OpenPark> {
  const open = run.ended ? [] : await openParks(sql, run.id, 'approval');
  const meant = open.filter((park) => isMeant(which, park));
  const [first] = meant;
  if (first && (meant.length === 1 || areOneBudget(meant))) return first;
  if (meant.length > 1) {
    const list = meant.map((park) => ({ step: parkTitle(park).n, title: parkTitle(park).title, id: park.step }));
    const names = list.map((one) => `${one.step} (${one.title})`).join(', ');
    throw new Refusal('conflict', `more than one step waits for a decision: ${names}; name one as step`, {
      waiting: list,
    });
  }
  throw await nothingWaits(sql, run, which);
}

function isMeant({ step, park }: Meant, gate: Pick<OpenPark, 'id' | 'step' | 'spec'>): boolean {
  return (park === undefined || park === gate.id) && (step === undefined || parkTitle(gate).n === step);
}

/** True when all of them wait for the same money: they are decided together, whichever is named. */
function areOneBudget(gates: readonly OpenPark[]): boolean {
  const keys = new Set(gates.map((gate) => budgetOf(gate.spec)?.key ?? null));
  return keys.size === 1 && !keys.has(null);
}

/** Says what was decided already, by whom and when, or why nothing can be. */
async function nothingWaits(sql: Sql, run: LockedRun, which: Meant): Promise<Refusal> {
  const { step } = which;
  const past = await sql.query<{
    id: string;
    step: string;
    spec: Json;
    decision: string;
    decidedBy: Json;
    decidedAt: Date;
  }>(
    `SELECT id, step, spec, decision, decided_by AS "decidedBy", decided_at AS "decidedAt" FROM park
      WHERE run_id = $1 AND kind = 'approval' AND decided_by IS NOT NULL AND ($2::text IS NULL OR id = $2)
      ORDER BY decided_at DESC LIMIT 20`,
    [run.id, which.park ?? null],
  );
  const last = past.find((park) => isMeant(which, park));
  if (last) {
    const by = isRecord(last.decidedBy) ? String(last.decidedBy.label) : 'the clock';
    const at = last.decidedAt.toISOString();
    const word = WORDS[last.decision] ?? last.decision;
    const { n, title } = parkTitle(last);
    return new Refusal('conflict', `step ${n} (${title}) was ${word} by ${by} at ${at}`, {
      decided: { step: n, decision: last.decision, by, at },
    });
  }
  if (run.ended) return new Refusal('conflict', `the run has ended: ${run.error ?? run.status}`);
  return new Refusal(
    'conflict',
    step === undefined ? 'the run waits for no decision' : `step ${step} waits for no decision`,
  );
}

export const WORDS: Readonly<Record<string, string>> = {
  approve: 'approved',
  reject: 'rejected',
  timeout: 'timed out',
};
