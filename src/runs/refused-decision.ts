import { audit, countAttempt } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/** A decision that was refused; one that was refused for its caller's role was not read. */
export interface RefusedDecision {
  readonly runId: string;
  readonly decision?: 'approve' | 'reject' | undefined;
  /** The step that the request named. */
  readonly step?: number | undefined;
}

/**
 * Keeps in the audit that a caller who is known, and sees the run, was refused a decision (403, 409), and why. The same
 * refusal of the same caller is kept once an hour, and twenty of a run, so that a program that polls does not fill the
 * table.
 */
export async function auditRefusal(
  deps: Pick<Deps, 'db' | 'log'>,
  caller: Pick<Caller, 'tenant' | 'actor' | 'address'>,
  { runId, decision, step }: RefusedDecision,
  error: unknown,
): Promise<void> {
  if (!(error instanceof Refusal) || (error.kind !== 'forbidden' && error.kind !== 'conflict')) return;
  const code = typeof error.details.code === 'string' ? error.details.code : error.kind;
  // The first request with the key is still at work, and is audited itself.
  if (code.startsWith('idempotency-key')) return;
  const detail = { decision, step, code, reason: error.message };
  const who = `${runId} ${caller.actor.kind} ${caller.actor.id}`;
  try {
    await countAttempt(deps, { 'refused-same': `${who} ${JSON.stringify(detail)}`, 'refused-decision': who });
    await audit(deps.db, caller, 'run.decide.refused', runId, detail);
  } catch (failure) {
    if (failure instanceof Refusal && failure.kind === 'rate_limited') return;
    // The caller is refused all the same.
    deps.log.error({ err: failure, run: runId }, 'a refused decision could not be written to the audit');
  }
}
