import type { EvalRunSummary } from '../contract/evals.js';
import type { Deps } from '../deps.js';
import { announceRuns } from '../engine/index.js';
import { EVAL_RUNS, type EvalRunRow, summaryOf } from './eval-run-rows.js';

/**
 * Waits until the evals that a push started with this revision have ended, at most `withinMs`. Those still running have
 * no `finishedAt`.
 */
export async function awaitPushEvals(
  deps: Deps,
  {
    workspaceId,
    revision,
    withinMs,
  }: { readonly workspaceId: string; readonly revision: string; readonly withinMs: number },
): Promise<readonly EvalRunSummary[]> {
  const read = () =>
    deps.db.query<EvalRunRow>(
      `${EVAL_RUNS} WHERE e.workspace_id = $1 AND e.revision = $2 AND e.trigger = 'push' ORDER BY e.eval, e.id`,
      [workspaceId, revision],
    );
  const begun = await read();
  const open = begun.filter(({ finishedAt }) => finishedAt === null).map(({ id }) => id);
  if (open.length === 0) return begun.map(summaryOf);
  await announceRuns(deps, open);
  await Promise.all(open.map((id) => deps.workflows.whenEvalEnds(id, withinMs)));
  return (await read()).map(summaryOf);
}
