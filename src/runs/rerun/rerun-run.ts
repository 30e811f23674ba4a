import type { Skipped, Started } from '../../contract/runs.js';
import type { Deps } from '../../deps.js';
import { branchesOf } from '../../format/model.js';
import { audit, findWorkspace, type RecordAnswer } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Json, JsonObject } from '../../shared/json.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { announceStarted, beginRun } from '../begin-run.js';
import { SKIPPED } from '../start-run.js';
import { chooseSteps, readEndedSteps } from './choose-steps.js';
import { copySteps } from './copy-steps.js';
import { planOfRerun } from './plan-of-rerun.js';

export interface RerunInput {
  readonly workspace: string;
  readonly runId: string;
  /** The first step, 1 for the whole flow. */
  readonly step: number;
  /** Another agent for step N. */
  readonly agent?: string | undefined;
  /** On the live revision instead of the run's own. */
  readonly current: boolean;
  /** Records the answer under the caller's idempotency key, in the transaction of the rerun. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

export interface OldRun {
  readonly id: string;
  readonly flow: string;
  readonly planId: string;
  readonly revision: string;
  readonly librarySeq: number;
  readonly mode: string;
  readonly input: Json;
  readonly trigger: JsonObject;
  readonly tags: readonly string[];
}

/**
 * Starts a new run from a step of an existing run, on the same revision. Results before `step` are copied; that step
 * and later ones run again and ask again. The old run stays as it is. Costs, decisions, parks and memory writes are not
 * copied.
 */
export async function rerunRun(deps: Deps, caller: Caller, input: RerunInput): Promise<Started | Skipped> {
  const { step, agent } = input;
  const started = await deps.db.transaction(async (sql) => {
    const workspace = await findWorkspace(sql, caller, input.workspace, 'share');
    const old = await readOld(sql, workspace.id, input.runId);
    const { plan, planId, revision, librarySeq, oldPlan } = await planOfRerun(sql, { workspace, old, input });
    const chosen = chooseSteps({ plan, oldPlan, step }, await readEndedSteps(sql, old.id));
    const shown = {
      of: old.id,
      step,
      agent: agent ?? null,
      with: input.current ? 'current' : 'own',
      copied: chosen.copied.map(({ n }) => n),
      notCopied: chosen.left,
    };
    const pos = plan.nodes.findIndex((node) => branchesOf(node).some((one) => one.n === step));
    const begun = await beginRun(
      deps,
      sql,
      {
        caller,
        workspace,
        plan,
        planId,
        revision,
        librarySeq,
        input: old.input,
        trigger: old.trigger,
        from: step,
        tags: old.tags,
        rerun: { of: old.id, pos, shown },
      },
      (runId) => copySteps(sql, { from: old.id, to: runId, chosen }),
    );
    if (!begun) return null;
    await audit(sql, caller, 'run.rerun', begun.runId, { of: old.id, step });
    const answer: Started = { ok: true, runId: begun.runId, steps: plan.steps, from: step };
    await input.recordAnswer?.(sql, answer);
    return { begun, answer };
  });
  if (!started) return SKIPPED;
  announceStarted(deps, started.begun);
  return started.answer;
}

async function readOld(sql: Sql, workspaceId: string, runId: string): Promise<OldRun> {
  const [old] = await sql.query<OldRun>({
    name: 'run-to-rerun',
    text: `SELECT id, flow, plan_id AS "planId", revision, library_seq AS "librarySeq", mode, input, trigger, tags FROM run
      WHERE id = $1 AND workspace_id = $2`,
    values: [runId, workspaceId],
  });
  if (!old) throw notFound('run');
  if (old.mode !== 'normal') throw new Refusal('conflict', 'the run belongs to an eval: run the eval again instead');
  return old;
}
