import { loadPlan } from '../content/index.js';
import type { GateMark, RunView, Waiting } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import { type HeldUp, releaseUrlOf } from '../engine/index.js';
import { findWorkspace } from '../people/index.js';
import type { Sql, TableRow } from '../platform/db/contract.js';
import { toUsd } from '../shared/money.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { PARK_COLUMNS } from './gate-rows.js';
import { readHeld, readSlotWaits, type SlotWaitRow } from './held-steps.js';
import { hideTokens } from './hide-tokens.js';
import { RUN_COLUMNS, type ShownRun, summaryOf } from './run-rows.js';
import { type ShownStep, stepViews } from './step-views.js';
import type { EventRow } from './trace.js';
import { type ShownChild, type ShownPark, waitingOf } from './waiting.js';

/** The whole run: every step with its output, cost, timing and trace, and everything it waits for. */
export async function getRun(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly runId: string },
): Promise<RunView> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const rows = await readAll(deps.db, workspace.id, input.runId);
  if (!rows) throw notFound('run');
  const { run } = rows;
  const plan = await loadPlan(deps, workspace.id, run.planId);
  const releaseUrl = (step: string): string =>
    releaseUrlOf(deps, { id: run.id, tenantId: workspace.tenantId, workspace: workspace.name }, step);
  const waiting = waitingOf(plan, rows, { caller, nowMs: deps.clock.now(), releaseUrl });
  return hideTokens(deps, caller, [run.id, run.parentId, run.rootId])({
    ...summaryOf(run),
    input: run.input,
    trigger: run.trigger,
    startedBy: run.startedBy,
    from: run.fromStep,
    revision: run.revision,
    ...(run.budgetNano === null ? {} : { budgetUsd: toUsd(run.budgetNano) }),
    memoryWrites: run.memoryWrites,
    rerunOf: run.rerunOf,
    waiting,
    ...onlyGate(waiting),
    ...(run.rerun == null ? {} : { rerun: run.rerun }),
    steps: stepViews(plan, rows, releaseUrl),
    usage: usageOf(rows.usage),
    lastSeq: Number(run.lastSeq),
  });
}

function onlyGate(waiting: readonly Waiting[]): { readonly gate?: GateMark } {
  const [gate, ...more] = waiting.flatMap((wait) => wait.gate ?? []);
  return gate && more.length === 0 ? { gate } : {};
}

interface All {
  readonly run: ShownRun;
  readonly steps: readonly ShownStep[];
  readonly parks: readonly ShownPark[];
  readonly events: readonly EventRow[];
  readonly files: readonly {
    readonly step: string;
    readonly agent: string;
    readonly path: string;
    readonly size: bigint;
  }[];
  readonly children: readonly ShownChild[];
  readonly slotWaits: readonly SlotWaitRow[];
  readonly held: readonly HeldUp[];
  readonly usage: readonly UsageRow[];
}

/** Reads all rows of the run in one snapshot, so that steps, events and parks agree. */
async function readAll(db: Deps['db'], workspaceId: string, runId: string): Promise<All | null> {
  return db.transaction(async (sql) => {
    await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const [run] = await sql.query<ShownRun>(`SELECT ${RUN_COLUMNS} FROM run WHERE id = $1 AND workspace_id = $2`, [
      runId,
      workspaceId,
    ]);
    return run ? { run, ...(await readParts(sql, run)) } : null;
  });
}

async function readParts(sql: Sql, { id: runId, slots, finishedAt }: ShownRun): Promise<Omit<All, 'run'>> {
  const steps = await sql.query<ShownStep>(
    `SELECT id, item, round, status, attempts, result, data, event_payload AS "eventPayload", decision, edits, feedback, error,
      cost_nano AS "costNano", tokens_in AS "tokensIn", tokens_out AS "tokensOut", tokens_cached AS "tokensCached", copied,
      started_at AS "startedAt", finished_at AS "finishedAt" FROM step WHERE run_id = $1 ORDER BY id, item, round`,
    [runId],
  );
  const parks = await sql.query<ShownPark>(
    `SELECT ${PARK_COLUMNS} FROM park p WHERE p.run_id = $1 AND p.decided_at IS NULL ORDER BY p.opened_at, p.id`,
    [runId],
  );
  const events = await sql.query<EventRow>(
    `SELECT seq, type, data, at, total::int FROM (
      SELECT seq, type, data, at, row_number() OVER (PARTITION BY data->>'step', data->>'group' ORDER BY seq DESC) AS n,
        count(*) OVER (PARTITION BY data->>'step', data->>'group') AS total
      FROM run_event WHERE run_id = $1 AND data->>'step' IS NOT NULL) x WHERE n <= $2 ORDER BY seq`,
    [runId, traceLines(steps.length)],
  );
  const files = await sql.query<All['files'][number]>(
    'SELECT step, agent, path, size FROM run_file WHERE run_id = $1 ORDER BY path',
    [runId],
  );
  const children = await sql.query<All['children'][number]>(
    `SELECT id, trigger->>'step' AS step, created_at AS since FROM run WHERE parent_id = $1 AND finished_at IS NULL`,
    [runId],
  );
  const slotWaits = slots === null || slots.length === 0 ? [] : await readSlotWaits(sql, runId);
  const held = finishedAt === null ? await readHeld(sql, runId) : [];
  const usage = await readUsage(sql, runId);
  return { steps, parks, events, files, children, slotWaits, held, usage };
}

/** Limits the newest trace lines per step, so that a run with many steps still fits one response. */
function traceLines(steps: number): number {
  return Math.max(20, Math.min(200, Math.floor(4_000 / Math.max(1, steps))));
}

interface UsageRow extends Pick<TableRow<'Usage'>, 'model' | 'nano' | 'estimated'> {
  readonly calls: number;
  readonly input: bigint;
  readonly output: bigint;
  readonly cached: bigint;
}

function readUsage(sql: Sql, runId: string): Promise<UsageRow[]> {
  return sql.query<UsageRow>(
    `SELECT model, count(*)::int AS calls, sum(tokens_in)::bigint AS input, sum(tokens_out)::bigint AS output,
      sum(tokens_cached)::bigint AS cached, sum(nano)::bigint AS nano, bool_or(estimated) AS estimated
      FROM usage WHERE run_id = $1 AND meter IN ('model', 'eval') GROUP BY model ORDER BY model`,
    [runId],
  );
}

function usageOf(rows: readonly UsageRow[]): RunView['usage'] {
  return rows.map(({ model, calls, input, output, cached, nano, estimated }) => ({
    model: model ?? 'unknown',
    calls,
    tokens: { input: Number(input), output: Number(output), cached: Number(cached) },
    costUsd: nano === null ? null : toUsd(nano),
    estimated,
  }));
}
