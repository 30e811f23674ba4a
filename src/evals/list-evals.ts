import type { Eval, EvalList, EvalRunSummary } from '../contract/evals.js';
import type { Deps } from '../deps.js';
import type { EvalPlan } from '../format/index.js';
import { keyCursors, type PageInput } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';
import { readLiveEvals } from './find-eval.js';
import { lastRuns } from './read-eval-runs.js';

const cursors = keyCursors('evals');

/** The evals of the live revision, by name, each with its newest run. */
export async function listEvals(
  deps: Deps,
  caller: Caller,
  input: PageInput & { readonly workspace: string },
): Promise<EvalList> {
  const { workspace, evals } = await readLiveEvals(deps.db, caller, input.workspace);
  const { page, next } = cursors.pageOfAll(evals, input, ({ name }) => name);
  const last = await lastRuns(
    deps.db,
    workspace.id,
    page.map(({ name }) => name),
  );
  return { evals: page.map((plan) => evalSummary(plan, last.get(plan.name) ?? null)), next };
}

export function evalSummary(
  { name, path, description, target, trigger, tags, cases }: EvalPlan,
  lastRun: EvalRunSummary | null,
): Eval {
  const shown = cases.map((one) => ({ name: one.title, tags: one.tags, skip: one.skip }));
  return { name, path, description, target, trigger, tags, cases: shown, lastRun };
}
