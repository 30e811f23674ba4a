import type { Deps } from '../deps.js';
import { isTransient } from '../engine/index.js';
import type { Sql } from '../platform/db/contract.js';
import { errorMessage } from '../shared/refusal.js';
import type { Begun } from '../workflows/contract.js';
import { failAttempt } from './work/attempt-row.js';
import { beginAttempt } from './work/begin-attempt.js';
import { closeEval, endEval, openEval } from './work/end-eval.js';
import { gradeAttempt } from './work/grade-attempt.js';
import { settleLostJudgeCall } from './work/judge-books.js';
import { JudgePostponed } from './work/judge-call.js';

const MOST_FAILURES = 5;

interface At {
  readonly evalRunId: string;
  readonly k: number;
}

/**
 * The activities of an eval's workflow. A step that fails repeatedly becomes the case's error and does not end the
 * eval.
 */
export const evalWork = {
  open: openEval,
  end: endEval,
  close: (deps: Deps, evalRunId: string) => closeEval(deps, evalRunId, 'the eval run was cut short'),
  begin: (deps: Deps, at: At): Promise<Begun> =>
    orFail<Begun>(deps, at, { work: () => beginAttempt(deps, at.evalRunId, at.k), failed: { kind: 'done' } }),
  grade: (deps: Deps, at: At, signal: AbortSignal): Promise<'open' | 'graded'> =>
    orFail<'open' | 'graded'>(deps, at, { work: () => gradeAttempt(deps, at, signal), failed: 'graded', signal }),
} as const;

async function orFail<T>(
  deps: Deps,
  at: At,
  { work, failed, signal }: { readonly work: () => Promise<T>; readonly failed: T; readonly signal?: AbortSignal },
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted || isTransient(error) || error instanceof JudgePostponed) throw error;
    const failures = await countFailure(deps.db, at);
    deps.log.error({ err: error, evalRun: at.evalRunId, k: at.k, failures }, 'an attempt of an eval failed');
    if (failures < MOST_FAILURES) throw error;
    await deps.db.transaction(async (sql) => {
      await settleLostJudgeCall(sql, at);
      await failAttempt(sql, at, `the service failed ${failures} times here: ${errorMessage(error)}`);
    });
    return failed;
  }
}

/** Waits and worker shutdowns also cause further attempts of the activity, so only failures here are counted. */
async function countFailure(sql: Sql, { evalRunId, k }: At): Promise<number> {
  const [row] = await sql.query<{ failures: number }>(
    'UPDATE eval_attempt SET failures = failures + 1 WHERE eval_run_id = $1 AND k = $2 RETURNING failures',
    [evalRunId, k],
  );
  return row?.failures ?? MOST_FAILURES;
}
