import type { RunStatus, RunSummary, RunView } from '../contract/runs.js';
import type { RunRow, Sql } from '../platform/db/contract.js';
import { isRecord, type Json } from '../shared/json.js';
import { toUsd } from '../shared/money.js';
import { notFound } from '../shared/refusal.js';
import { GATE_ROUND, type MarkedGate } from './gate-mark.js';

/** The columns of a locked run that decisions need. */
export interface LockedRun {
  readonly id: string;
  readonly tenantId: string;
  readonly workspaceId: string;
  readonly flow: string;
  readonly planId: string;
  readonly status: string;
  readonly error: string | null;
  readonly ended: boolean;
  readonly startedBy: Json | null;
  readonly mode: string;
}

const COLUMNS = `id, tenant_id AS "tenantId", workspace_id AS "workspaceId", flow, plan_id AS "planId", status, error,
  finished_at IS NOT NULL AS ended, started_by AS "startedBy", mode`;

/** Locks the run's row; a run of another workspace refuses exactly like a missing one. */
export async function lockRun(sql: Sql, workspaceId: string, runId: string): Promise<LockedRun> {
  const [run] = await sql.query<LockedRun>({
    name: 'lock-run',
    text: `SELECT ${COLUMNS} FROM run WHERE id = $1 AND workspace_id = $2 FOR UPDATE`,
    values: [runId, workspaceId],
  });
  if (!run) throw notFound('run');
  return run;
}

export interface OpenPark extends MarkedGate {
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly kind: 'approval' | 'event' | 'timer';
  readonly need: number;
  readonly openedAt: Date;
}

export async function openParks(sql: Sql, runId: string, kind: 'approval' | 'event'): Promise<OpenPark[]> {
  const parks = await sql.query<OpenPark>({
    name: 'open-parks',
    text: `SELECT p.id, p.step, p.item, p.round, p.kind, p.spec, p.need, p.votes, p.opened_at AS "openedAt", ${GATE_ROUND}
      FROM park p WHERE p.run_id = $1 AND p.kind = $2 AND p.decided_at IS NULL`,
    values: [runId, kind],
  });
  return parks.sort((a, b) => parkTitle(a).n - parkTitle(b).n || a.item - b.item);
}

/** The step's number and title. */
export function parkTitle(park: { readonly spec: Json; readonly step: string }): { n: number; title: string } {
  const spec = isRecord(park.spec) ? park.spec : {};
  return { n: Number(spec.n ?? 0), title: String(spec.title ?? park.step) };
}

/** The item of an `each`, from 1; nothing for a step without one. */
export function itemOf({ item }: { readonly item: number }): { readonly item?: number } {
  return item === 0 ? {} : { item };
}

/** The id of the person who started the run; null for other starts. */
export function starterOf(run: { readonly startedBy: Json | null }): string | null {
  return isRecord(run.startedBy) && typeof run.startedBy.person === 'string' ? run.startedBy.person : null;
}

export const RUN_COLUMNS = `id, flow, plan_id AS "planId", revision, parent_id AS "parentId", root_id AS "rootId", status, stopped, input, trigger,
  started_by AS "startedBy", from_step AS "fromStep", tags, error, summary, last_seq AS "lastSeq", budget_nano AS "budgetNano",
  spent_nano AS "spentNano", coalesce(memory_writes, '{}') AS "memoryWrites", rerun_of AS "rerunOf", rerun, slots, created_at AS "createdAt",
  started_at AS "startedAt", finished_at AS "finishedAt",
  (slots <> '{}' AND finished_at IS NULL AND EXISTS (SELECT 1 FROM slot_lane q
    WHERE q.run_id = run.id AND q.state = 'waiting')) IS TRUE AS "waitsForSlot"`;

export interface ShownRun
  extends Pick<
    RunRow,
    | 'id'
    | 'flow'
    | 'planId'
    | 'revision'
    | 'parentId'
    | 'rootId'
    | 'stopped'
    | 'input'
    | 'trigger'
    | 'startedBy'
    | 'fromStep'
    | 'tags'
    | 'error'
    | 'summary'
    | 'lastSeq'
    | 'budgetNano'
    | 'spentNano'
    | 'memoryWrites'
    | 'rerunOf'
    | 'createdAt'
    | 'startedAt'
    | 'finishedAt'
  > {
  readonly status: RunStatus;
  readonly rerun: RunView['rerun'] | null;
  /** Null in rows of older versions. */
  readonly slots: RunRow['slots'] | null;
  readonly waitsForSlot: boolean;
}

export function summaryOf(run: ShownRun): RunSummary {
  const { startedAt, finishedAt } = run;
  return {
    id: run.id,
    flow: run.flow,
    status: run.status,
    stopped: run.stopped,
    createdAt: run.createdAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
    durationMs: startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : null,
    summary: run.summary,
    error: run.error,
    costUsd: toUsd(run.spentNano),
    tags: run.tags,
    parentId: run.parentId,
    waitsForSlot: run.waitsForSlot,
  };
}
