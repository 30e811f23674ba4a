import { audit, type Once } from '../../accounts/index.js';
import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import { branchesOf } from '../../engine/index.js';
import type { Json, JsonObject } from '../../shared/json.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { findWorkspace } from '../../workspaces/index.js';
import { beginRun, tellBegun } from '../begin-run.js';
import { SKIPPED, type SkippedRun, type StartedRun } from '../start-run.js';
import { chooseSteps, readTakenSteps } from './choose-steps.js';
import { copySteps } from './copy-steps.js';
import { planOfRerun } from './plan-of-rerun.js';

export interface RerunInput {
  readonly workspace: string;
  readonly runId: string;
  /** Begin at step N, 1 for the whole flow. */
  readonly step: number;
  /** Who runs step N instead. */
  readonly agent?: string | undefined;
  /** On today's revision instead of the run's own. */
  readonly current: boolean;
  /** Keeps the answer with what was done. */
  readonly once?: Once | undefined;
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
 * A new run of what a run did, on its revision: what the steps before `step` made is taken over, that step and those
 * after it run anew, and ask anew. The old run, live or ended, is left as it is. Nothing that was paid, decided, parked
 * or written to memory is taken over.
 */
export async function rerunRun(deps: Deps, caller: Caller, input: RerunInput): Promise<StartedRun | SkippedRun> {
  const { step, agent } = input;
  const started = await deps.db.transaction(async (sql) => {
    const workspace = await findWorkspace(sql, caller, input.workspace, 'share');
    const old = await readOld(sql, workspace.id, input.runId);
    const { plan, planId, revision, librarySeq, oldPlan } = await planOfRerun(sql, { workspace, old, input });
    const chosen = chooseSteps({ plan, oldPlan, step }, await readTakenSteps(sql, old.id));
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
    const answer: StartedRun = { ok: true, runId: begun.runId, steps: plan.steps, from: step };
    await input.once?.(sql, answer);
    return { begun, answer };
  });
  if (!started) return SKIPPED;
  tellBegun(deps, started.begun);
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
  if (old.mode !== 'normal') throw new Refusal('conflict', 'a run of an eval is run again by running its eval');
  return old;
}
