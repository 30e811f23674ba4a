import type { Deps } from '../deps.js';
import { isPassing } from '../engine/index.js';
import { errorMessage } from '../shared/refusal.js';
import type { Begun } from '../workflows/contract.js';
import { failAttempt } from './work/attempt-row.js';
import { beginAttempt } from './work/begin-attempt.js';
import { closeEval, endEval, openEval } from './work/end-eval.js';
import { gradeAttempt } from './work/grade-attempt.js';
import { settleLost } from './work/judge-books.js';

const LAST_ATTEMPT = 5;

interface At {
  readonly evalRunId: string;
  readonly k: number;
  /** Which attempt of the activity it is, from 1. */
  readonly attempt: number;
}

/** What the workflow of an eval asks for. What fails again and again is the case's error, and not the eval's end. */
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
    if (signal?.aborted || isPassing(error)) throw error;
    deps.log.error({ err: error, evalRun: at.evalRunId, k: at.k, attempt: at.attempt }, 'an attempt of an eval failed');
    if (at.attempt < LAST_ATTEMPT) throw error;
    await deps.db.transaction(async (sql) => {
      await settleLost(sql, at, null);
      await failAttempt(sql, at, `the service failed ${at.attempt} times here: ${errorMessage(error)}`);
    });
    return failed;
  }
}
