import { loadPlan } from '../content/index.js';
import type { StartedEval, StoppedEval } from '../contract/evals.js';
import type { Deps } from '../deps.js';
import { abortLive, announceRuns, assertMonths } from '../engine/index.js';
import { currentEval, type EvalPlan, leavesOf, type Plan } from '../format/index.js';
import { audit, type RecordAnswer } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { failpoint } from '../shared/failpoint.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { findEval, type LiveEvals, readLiveEvals } from './find-eval.js';
import { attemptsOf, insertEvalRun, MAX_ATTEMPTS } from './insert-eval-run.js';
import { cutEval } from './work/end-eval.js';

interface RunEvalInput {
  readonly workspace: string;
  readonly eval: string;
  /** Only cases with one of these titles. */
  readonly cases?: readonly string[] | undefined;
  /** Only cases with one of these tags. */
  readonly tags?: readonly string[] | undefined;
  /** Records the answer in the transaction of the change. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

/**
 * Starts a run of an eval of the live revision. The outbox row is in the same transaction, so the start is never lost.
 */
export async function runEval(deps: Deps, caller: Caller, input: RunEvalInput): Promise<StartedEval> {
  const answer = await deps.db.transaction(async (sql) => {
    const { workspace, revision, evals, plans, librarySeq } = await readLiveEvals(
      sql,
      caller,
      input.workspace,
      'share',
    );
    const stored = evals.find(({ name }) => name === input.eval);
    const planId = stored && plans[stored.target];
    if (!stored || planId === undefined || revision === null) throw notFound('eval');
    const spec = currentEval(stored, await loadPlans(sql, workspace.id, { plans, target: stored.target }));
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
    await input.recordAnswer?.(sql, started);
    return started;
  });
  failpoint('run-committed');
  void announceRuns(deps, [answer.evalRunId]);
  return answer;
}

/** The plans of a target and of all its subflows, by target. */
async function loadPlans(
  sql: Sql,
  workspaceId: string,
  { plans, target }: Pick<LiveEvals, 'plans'> & { readonly target: string },
): Promise<ReadonlyMap<string, Plan>> {
  const loaded = new Map<string, Plan>();
  const open = [target];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const planId = plans[at];
    if (planId === undefined || loaded.has(at)) continue;
    const plan = await loadPlan({ db: sql }, workspaceId, planId);
    loaded.set(at, plan);
    for (const { subflow } of leavesOf(plan)) if (subflow !== undefined) open.push(`flows/${subflow}`);
  }
  return loaded;
}

/** Indexes of the requested cases. Refuses an unknown title and an empty selection. */
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
      titles || tags ? 'no case matches the selection, or all that match are skipped' : 'all of its cases are skipped';
    throw new Refusal('refused', `${spec.name} cannot run: ${why}`);
  }
  return chosen;
}

/** Stops an eval run and the runs of its cases. Stopping one that has ended answers the same and changes nothing. */
export async function stopEvalRun(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly eval: string; readonly id: string },
): Promise<StoppedEval> {
  const ended = await deps.db.transaction(async (sql) => {
    const workspace = await findEval(sql, caller, input);
    const isId = /^[0-9a-z]{1,40}$/.test(input.id);
    const [row] = isId
      ? await sql.query('SELECT 1 FROM eval_run WHERE id = $1 AND workspace_id = $2 AND eval = $3', [
          input.id,
          workspace.id,
          input.eval,
        ])
      : [];
    if (!row) throw notFound('eval run');
    const cut = await cutEval(sql, input.id, { status: 'stopped', error: `stopped by ${caller.actor.label}` });
    if (cut) await audit(sql, caller, 'eval.stop', input.id, { eval: input.eval });
    return cut;
  });
  for (const id of ended ?? []) abortLive(id);
  void announceRuns(deps, ended ?? []);
  return { ok: true, stopped: ended !== null };
}
