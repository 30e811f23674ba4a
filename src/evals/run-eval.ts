import { audit, type Once } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import { assertMonths, tellRuns } from '../engine/index.js';
import { failpoint } from '../shared/failpoint.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import type { EvalPlan } from '../workspace/index.js';
import { readLiveEvals } from './find-eval.js';
import { attemptsOf, insertEvalRun, MAX_ATTEMPTS } from './insert-eval-run.js';

export interface RunEvalInput {
  readonly workspace: string;
  readonly eval: string;
  /** Only the cases of these titles. */
  readonly cases?: readonly string[] | undefined;
  /** Only the cases that have one of these tags. */
  readonly tags?: readonly string[] | undefined;
  /** Keeps the answer with what was done. */
  readonly once?: Once | undefined;
}

export interface StartedEval {
  readonly ok: true;
  readonly evalRunId: string;
  /** How many cases run; those that are skipped are none of them. */
  readonly cases: number;
}

/** Begins a run of an eval of the live revision. It is kept with the word to Temporal, so it is never lost. */
export async function runEval(deps: Deps, caller: Caller, input: RunEvalInput): Promise<StartedEval> {
  const answer = await deps.db.transaction(async (sql) => {
    const { workspace, revision, evals, plans, librarySeq } = await readLiveEvals(
      sql,
      caller,
      input.workspace,
      'share',
    );
    const spec = evals.find(({ name }) => name === input.eval);
    const planId = spec && plans[spec.target];
    if (!spec || planId === undefined || revision === null) throw notFound('eval');
    const cases = chooseCases(spec, input);
    if (attemptsOf(spec, cases) > MAX_ATTEMPTS) {
      throw new Refusal(
        'refused',
        `the cases and their repeats come to more than ${MAX_ATTEMPTS} runs: name some of them in cases or tags`,
      );
    }
    await assertMonths(sql, workspace.id, deps.clock.now());
    const evalRunId = await insertEvalRun(sql, {
      tenantId: workspace.tenantId,
      workspaceId: workspace.id,
      revision,
      librarySeq,
      planId,
      spec,
      trigger: 'manual',
      startedBy: { ...caller.actor, person: caller.person?.id ?? null },
      cases,
    });
    await audit(sql, caller, 'eval.run', evalRunId, { eval: spec.name });
    const started: StartedEval = { ok: true, evalRunId, cases: cases.filter((at) => !spec.cases[at]?.skip).length };
    await input.once?.(sql, started);
    return started;
  });
  failpoint('run-committed');
  void tellRuns(deps, [answer.evalRunId]);
  return answer;
}

/** The places of the cases that are asked for. Refuses a title that the eval has not, and a choice of none. */
function chooseCases(spec: EvalPlan, { cases: titles, tags }: RunEvalInput): number[] {
  const missing = titles?.find((title) => !spec.cases.some((one) => one.title === title));
  if (missing !== undefined) {
    const known = spec.cases.map(({ title }) => `“${title}”`).join(', ');
    throw new Refusal('refused', `cases: ${spec.name} has no case “${missing}”; it has ${known || 'none'}`);
  }
  const chosen = spec.cases.flatMap((one, at) => {
    const isNamed = titles === undefined || titles.includes(one.title);
    return isNamed && (tags === undefined || tags.some((tag) => one.tags.includes(tag))) ? [at] : [];
  });
  if (!chosen.some((at) => !spec.cases[at]?.skip)) {
    const why =
      titles || tags ? 'none of its cases is chosen that is not skipped' : 'it has no case that is not skipped';
    throw new Refusal('refused', `${spec.name} cannot run: ${why}`);
  }
  return chosen;
}
