import type { Deps } from '../deps.js';
import { audit, countAttempt } from '../people/index.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/** A refused decision. The fields are missing when the caller's role was refused before the body was read. */
export interface RefusedDecision {
  readonly runId: string;
  readonly decision?: 'approve' | 'reject' | undefined;
  /** The step that the request named. */
  readonly step?: number | undefined;
}

/**
 * Audits a refused decision (403, 409) of a known caller who can see the run. The same refusal of the same caller is
 * recorded at most once an hour, and at most twenty per run, so that a polling program does not fill the table.
 */
export async function auditRefusal(
  deps: Pick<Deps, 'db' | 'log'>,
  caller: Pick<Caller, 'tenant' | 'actor' | 'address'>,
  { runId, decision, step }: RefusedDecision,
  error: unknown,
): Promise<void> {
  if (!(error instanceof Refusal) || (error.kind !== 'forbidden' && error.kind !== 'conflict')) return;
  const code = typeof error.details.code === 'string' ? error.details.code : error.kind;
  // The first request with this key is still running and audits itself.
  if (code.startsWith('idempotency-key')) return;
  const detail = { decision, step, code, reason: error.message };
  const who = `${runId} ${caller.actor.kind} ${caller.actor.id}`;
  try {
    await countAttempt(deps, { 'refused-same': `${who} ${JSON.stringify(detail)}`, 'refused-decision': who });
    await audit(deps.db, caller, 'run.decide.refused', runId, detail);
  } catch (failure) {
    if (failure instanceof Refusal && failure.kind === 'rate_limited') return;
    // A failed audit does not change the caller's answer.
    deps.log.error({ err: failure, run: runId }, 'failed to audit a refused decision');
  }
}
