import { livePlan, loadPlan, pinnedPlan, storePlan } from '../../content/index.js';
import type { Skipped, Started } from '../../contract/runs.js';
import type { Deps } from '../../deps.js';
import type { Plan, StepPlan } from '../../format/index.js';
import { branchesOf, leavesOf } from '../../format/model.js';
import { audit, findWorkspace, type RecordAnswer, type WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { toJson } from '../../shared/exact-json.js';
import { failpoint } from '../../shared/failpoint.js';
import type { Json, JsonObject } from '../../shared/json.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { announceStarted, beginRun } from '../begin-run.js';
import { checkEnabled, checkInput, SKIPPED } from '../start-run.js';
import { type ChosenSteps, chooseSteps, readEndedSteps } from './choose-steps.js';

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

interface OldRun {
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

interface Copy {
  readonly from: string;
  readonly to: string;
  readonly chosen: ChosenSteps;
}

/**
 * Copies into a new run the ended rounds and items of the chosen steps, with the index of their archived files. They
 * add no cost to the new run.
 */
async function copySteps(sql: Sql, { from, to, chosen }: Copy): Promise<void> {
  const { rows, copied, skipped } = chosen;
  const ids = copied.map(({ id }) => id);
  const copiedIds = new Set(ids);
  const oldIds = new Map(rows.flatMap(({ oldId, id }) => (copiedIds.has(id) ? [[oldId, id] as const] : [])));
  if (rows.length > 0) {
    await sql.query({
      name: 'copy-steps',
      text: `INSERT INTO step (run_id, id, item, round, lane, status, attempts, result, data, event_payload, decision, items, edits,
            feedback, error, started_at, finished_at, copied)
        SELECT $2, k.id, s.item, s.round, k.lane, s.status, s.attempts, s.result, s.data, s.event_payload, s.decision, s.items, s.edits,
            s.feedback, s.error, s.started_at, s.finished_at, true
          FROM step s JOIN unnest($3::text[], $4::int[], $5::int[], $6::text[], $7::text[]) k (old_id, item, round, id, lane)
            ON s.id = k.old_id AND s.item = k.item AND s.round = k.round
          WHERE s.run_id = $1`,
      values: [
        from,
        to,
        rows.map(({ oldId }) => oldId),
        rows.map(({ item }) => item),
        rows.map(({ round }) => round),
        rows.map(({ id }) => id),
        rows.map(({ lane }) => lane),
      ],
    });
    failpoint('steps-copying');
    await sql.query({
      name: 'copy-run-files',
      text: `INSERT INTO run_file (run_id, agent, path, step, sha, size)
        SELECT $2, f.agent, f.path, k.id, f.sha, f.size
          FROM run_file f JOIN unnest($3::text[], $4::text[]) k (old_id, id) ON f.step = k.old_id
          WHERE f.run_id = $1 FOR SHARE OF f`,
      values: [from, to, [...oldIds.keys()], [...oldIds.values()]],
    });
  }
  await sql.query({
    name: 'skip-steps',
    text: `INSERT INTO step (run_id, id, lane, status, finished_at) SELECT $1, id, 'main', 'skipped', now() FROM unnest($2::text[]) id`,
    values: [to, skipped],
  });
  await appendEvents(sql, to, [
    ...ids.map((step) => ({ type: 'step.copied', data: { step, of: from } })),
    ...skipped.map((step) => ({ type: 'step.skipped', data: { step, why: 'from' } })),
  ]);
}

async function appendEvents(sql: Sql, runId: string, events: readonly { type: string; data: object }[]): Promise<void> {
  await sql.query({
    name: 'append-copied-events',
    text: `WITH r AS (UPDATE run SET last_seq = last_seq + jsonb_array_length($2::jsonb) WHERE id = $1 RETURNING last_seq)
      INSERT INTO run_event (run_id, seq, type, data)
      SELECT $1, r.last_seq - jsonb_array_length($2::jsonb) + x.n, x.v->>'type', x.v->'data'
        FROM r, jsonb_array_elements($2::jsonb) WITH ORDINALITY x(v, n)`,
    values: [runId, toJson(events)],
  });
}

interface Asked {
  readonly workspace: WorkspaceRow;
  readonly old: OldRun;
  readonly input: RerunInput;
}

interface RerunPlan {
  readonly plan: Plan;
  readonly planId: string;
  readonly revision: string;
  readonly librarySeq: number;
  /** The plan of the old run; steps match by their ids. */
  readonly oldPlan: Plan;
}

/** The plan of the new run: the old run's or the live one, with another agent for step N when the caller names one. */
async function planOfRerun(sql: Sql, { workspace, old, input }: Asked): Promise<RerunPlan> {
  const oldPlan = await loadPlan({ db: sql }, workspace.id, old.planId);
  const target = old.flow.startsWith('agents/') ? old.flow : `flows/${old.flow}`;
  const live = await livePlan(sql, workspace, target);
  // A disabled flow cannot run in any revision.
  if (live) checkEnabled(live.plan);
  if (input.current && !live) {
    throw new Refusal(
      'conflict',
      `${old.flow} is no longer in this workspace: leave out with to run the revision of this run`,
    );
  }
  const base =
    input.current && live
      ? live
      : { plan: oldPlan, planId: old.planId, revision: old.revision, librarySeq: old.librarySeq };
  if (input.current) checkInput(base.plan, old.input);
  const step = leavesOf(base.plan)[input.step - 1];
  if (!step) {
    throw new Refusal(
      'refused',
      `step: ${old.flow} has ${base.plan.steps} steps, so it cannot begin at step ${input.step}`,
    );
  }
  if (input.agent === undefined || input.agent === step.agent) return { ...base, oldPlan };
  const plan = await withAgent(sql, { workspaceId: workspace.id, ...base }, step, input.agent);
  return { ...base, plan, planId: await storePlan(sql, workspace.id, plan), oldPlan };
}

async function withAgent(
  sql: Sql,
  at: { readonly workspaceId: string; readonly revision: string; readonly librarySeq: number; readonly plan: Plan },
  step: StepPlan,
  agent: string,
): Promise<Plan> {
  if (step.agent === undefined) {
    throw new Refusal('refused', `agent: step ${step.n} (${step.title}) has no agent that could be replaced`);
  }
  const other = await pinnedPlan(sql, at, `agents/${agent}`);
  if (!other) throw new Refusal('refused', `agent: there is no agent ${agent} in the revision of the rerun`);
  const swap = (one: StepPlan): StepPlan => (one.n === step.n ? { ...one, agent } : one);
  return {
    ...at.plan,
    nodes: at.plan.nodes.map((node) =>
      node.kind === 'group' ? { ...node, branches: node.branches.map(swap) } : swap(node),
    ),
    agents: { ...other.plan.agents, ...at.plan.agents },
  };
}
