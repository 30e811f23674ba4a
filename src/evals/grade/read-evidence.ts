import type { Plan } from '../../format/index.js';
import { leavesOf } from '../../format/model.js';
import type { RunRow, Sql, StepRow } from '../../platform/db/contract.js';
import { isRecord, type Json } from '../../shared/json.js';
import { toUsd } from '../../shared/money.js';
import type { CaseEvidence, Subject } from './evidence.js';

interface CaseRun
  extends Pick<
    RunRow,
    'id' | 'flow' | 'status' | 'stopped' | 'error' | 'input' | 'trigger' | 'tags' | 'startedBy' | 'startedAt'
  > {
  readonly finishedAt: Date;
  readonly spent: RunRow['spentNano'];
}

interface CaseStep extends Pick<StepRow, 'status' | 'result' | 'data' | 'decision'> {
  readonly path: string;
  readonly event: StepRow['eventPayload'];
  readonly cost: StepRow['costNano'];
  readonly latencyMs: number | null;
}

type Parked = CaseEvidence['parked'];

/** The runs of a case, each with the path of steps from the root to it. */
const TREE = `WITH RECURSIVE tree AS (
  SELECT id, ''::text AS path FROM run WHERE id = $1
  UNION ALL SELECT c.id, tree.path || (c.trigger->>'step') || '/' FROM run c JOIN tree ON c.parent_id = tree.id)`;

/** Reads what assertions may test, of a run that has ended. */
export async function readEvidence(
  sql: Sql,
  { runId, plan, parked }: { readonly runId: string; readonly plan: Plan; readonly parked: Parked },
): Promise<CaseEvidence> {
  const [run, rows, calls, unpriced, files] = await Promise.all([
    readRun(sql, runId),
    readSteps(sql, runId),
    sql.query<{ step: string; name: string }>(
      `${TREE} SELECT t.path || (e.data->>'step') AS step, coalesce(e.data->>'tool', e.data->>'name') AS name
        FROM tree t JOIN run_event e ON e.run_id = t.id AND e.type = 'tool.started' ORDER BY e.at, e.run_id, e.seq`,
      [runId],
    ),
    sql.query<{ step: string }>(
      `${TREE} SELECT DISTINCT t.path || u.step AS step FROM tree t JOIN usage u ON u.run_id = t.id
        WHERE u.nano IS NULL AND u.meter = 'eval'`,
      [runId],
    ),
    sql.query<{ path: string; size: number }>(
      `${TREE} SELECT DISTINCT f.path, f.size::float8 AS size FROM tree t JOIN run_file f ON f.run_id = t.id ORDER BY f.path`,
      [runId],
    ),
  ]);
  const within = (path: string, step: string) => step === path || step.startsWith(`${path}/`);
  const steps = new Map(
    rows.map((row): [string, Subject] => [
      row.path,
      {
        name: `the step ${row.path}`,
        status: statusOf(row, parked),
        text: row.result,
        ...(row.data === null ? {} : { data: row.data }),
        ...(row.event === null ? {} : { event: row.event }),
        ...(row.decision === null ? {} : { decision: row.decision }),
        costUsd: unpriced.some(({ step }) => within(row.path, step)) ? null : toUsd(row.cost),
        latencyMs: row.latencyMs,
        tools: calls.filter(({ step }) => within(row.path, step)).map(({ name }) => name),
      },
    ]),
  );
  const subject: Subject = {
    name: 'the run',
    status: statusOfRun(run, parked),
    text: finalOutput(plan, steps),
    costUsd: unpriced.length > 0 ? null : toUsd(run.spent),
    latencyMs: run.startedAt === null ? null : run.finishedAt.getTime() - run.startedAt.getTime(),
    tools: calls.map(({ name }) => name),
  };
  return {
    task: run.input,
    run: subject,
    error: subject.status === 'failed' ? (run.error ?? 'without an error message') : null,
    stopped: run.stopped,
    steps: withGroups(plan, steps),
    parked,
    roots: rootsOf(run, plan, steps),
    files,
  };
}

async function readRun(sql: Sql, runId: string): Promise<CaseRun> {
  const [run] = await sql.query<CaseRun>(
    `SELECT id, flow, status, stopped, error, input, trigger, tags, started_by AS "startedBy", started_at AS "startedAt",
      finished_at AS "finishedAt", spent_nano AS spent FROM run WHERE id = $1`,
    [runId],
  );
  if (!run) throw new Error(`run ${runId} is gone`);
  return run;
}

/** The newest round of each step; for a subflow that ran more than once, its newest run. */
function readSteps(sql: Sql, runId: string): Promise<CaseStep[]> {
  return sql.query<CaseStep>(
    `${TREE} SELECT DISTINCT ON (t.path || s.id) t.path || s.id AS path, s.status, s.result, s.data, s.event_payload AS event,
        s.decision, s.cost_nano AS cost, (extract(epoch FROM s.finished_at - s.started_at) * 1000)::float8 AS "latencyMs"
      FROM tree t JOIN step s ON s.run_id = t.id AND s.item = 0 ORDER BY t.path || s.id, t.id DESC, s.round DESC`,
    [runId],
  );
}

/** Ending a parked case closed its rows. Show them as they were before. */
function statusOf({ path, status }: CaseStep, parked: Parked): string {
  if (parked.some(({ step }) => step === path)) return 'waiting';
  return parked.some(({ step }) => step.startsWith(`${path}/`)) ? 'running' : status;
}

function statusOfRun({ status }: CaseRun, parked: Parked): string {
  if (parked.length === 0) return status;
  return parked.some(({ kind }) => kind === 'approval') ? 'awaiting-approval' : 'running';
}

function withGroups(plan: Plan, steps: ReadonlyMap<string, Subject>): ReadonlyMap<string, Subject> {
  const all = new Map(steps);
  for (const node of plan.nodes) {
    const group = all.get(node.id);
    if (node.kind !== 'group' || !group) continue;
    const open = node.branches.some(({ id }) => ['waiting', 'running'].includes(steps.get(id)?.status ?? ''));
    if (open) all.set(node.id, { ...group, status: 'running' });
  }
  return all;
}

function finalOutput(plan: Plan, steps: ReadonlyMap<string, Subject>): string | null {
  for (const { id } of leavesOf(plan).reverse()) {
    const text = steps.get(id)?.text;
    if (text != null) return text;
  }
  return null;
}

/** The roots that conditions of the flow see (format.md, rule 8), as of the end of the run. */
function rootsOf(run: CaseRun, plan: Plan, steps: ReadonlyMap<string, Subject>): Record<string, Json> {
  const shown: Record<string, Json> = {};
  for (const node of plan.nodes) {
    for (const { id } of node.kind === 'group' ? [node, ...node.branches] : [node]) shown[id] = stepRoot(steps.get(id));
  }
  const startedBy = isRecord(run.startedBy) ? (run.startedBy as Json) : '';
  const { id, flow, tags } = run;
  return {
    input: run.input,
    steps: shown,
    trigger: run.trigger,
    run: { id, flow, startedAt: run.startedAt?.toISOString() ?? '', tags: [...tags], startedBy },
  };
}

function stepRoot(step: Subject | undefined): Json {
  if (!step) return { status: 'pending' };
  const { status, text, data, event, decision, costUsd } = step;
  return {
    status,
    ...(text === null ? {} : { result: text }),
    ...(data === undefined ? {} : { data }),
    ...(event === undefined ? {} : { event }),
    ...(decision === undefined ? {} : { decision }),
    ...(costUsd === null ? {} : { costUsd }),
  };
}
