import type { Deps } from '../deps.js';
import type { Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { loadPlan } from '../workspaces/index.js';
import { hideTokens } from './hide-tokens.js';
import { parkTitle } from './run-rows.js';
import type { StepRow } from './step-views.js';
import { type GateView, gateView, type ParkRow } from './waiting.js';

/** A gate that is open, with where it stands. */
export interface Approval extends GateView {
  readonly workspace: string;
  readonly runId: string;
  readonly flow: string;
  readonly step: number;
  readonly id: string;
  readonly title: string;
  readonly since: string;
  readonly due: string | null;
  readonly summary: string;
}

interface Row extends ParkRow {
  readonly park: string;
  readonly runId: string;
  readonly rootId: string;
  readonly parentId: string | null;
  readonly workspaceId: string;
  readonly workspace: string;
  readonly flow: string;
  readonly planId: string;
  readonly startedBy: Json;
  /** The first line of the newest result; null while there is none. */
  readonly newest: string | null;
  /** The rows of the steps that the gate lets a decider change. */
  readonly editable: readonly Pick<StepRow, 'id' | 'item' | 'result' | 'data'>[];
}

/** Of runs that are live, which an index knows, in the order of the gates' opening. An eval's gates are decided by its cases. */
const OPEN_GATES = `SELECT p.id AS park, p.step, p.kind, p.spec, p.need, p.votes, p.opened_at AS "openedAt", p.due_at AS "dueAt",
    r.id AS "runId", r.root_id AS "rootId", r.parent_id AS "parentId", w.id AS "workspaceId", w.name AS workspace, r.flow,
    r.plan_id AS "planId", r.started_by AS "startedBy",
    (SELECT left(split_part(ltrim(s.result, E' \\t\\r\\n'), E'\\n', 1), 300) FROM step s
      WHERE s.run_id = r.id AND s.result ~ '\\S' ORDER BY s.finished_at DESC NULLS FIRST, s.started_at DESC LIMIT 1) AS newest,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'item', s.item, 'result', s.result, 'data', s.data) ORDER BY s.round), '[]')
      FROM step s WHERE s.run_id = r.id AND s.item = 0 AND p.spec->'edit' ? s.id) AS editable
  FROM workspace w JOIN run r ON r.workspace_id = w.id JOIN park p ON p.run_id = r.id
  WHERE w.tenant_id = $1 AND ($2::text[] IS NULL OR w.name = ANY($2))
    AND r.finished_at IS NULL AND r.mode <> 'eval' AND p.kind = 'approval' AND p.decided_at IS NULL
    AND ($3::timestamptz IS NULL OR (p.opened_at, p.id) > ($3, $4))
  ORDER BY p.opened_at, p.id LIMIT $5`;

/** Everything that waits for a person in the workspaces that the caller may see, the longest wait first, in pages. */
export async function listApprovals(
  deps: Deps,
  caller: Caller,
  input: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<{ readonly approvals: readonly Approval[]; readonly next: string | null }> {
  const after = input.cursor === undefined ? null : readCursor(input.cursor);
  const values = [caller.tenant, caller.workspaces, after?.at ?? null, after?.park ?? null, input.limit + 1];
  const rows = await deps.db.query<Row>({ name: 'list-approvals', text: OPEN_GATES, values });
  const page = rows.slice(0, input.limit);
  const last = page.at(-1);
  const approvals: Approval[] = [];
  for (const row of page) approvals.push(await viewOf(deps, caller, row));
  const next = rows.length > input.limit && last ? `${last.openedAt.getTime()}.${last.park}` : null;
  return { approvals, next };
}

async function viewOf(deps: Deps, caller: Caller, row: Row): Promise<Approval> {
  const plan = await loadPlan(deps, row.workspaceId, row.planId);
  const { n, title } = parkTitle(row);
  const rows = { run: row, steps: row.editable as unknown as readonly StepRow[] };
  const gate = gateView(plan, rows, row, { caller, nowMs: deps.clock.now() });
  return hideTokens(deps, caller, [row.runId, row.parentId, row.rootId])({
    workspace: row.workspace,
    runId: row.runId,
    flow: row.flow,
    step: n,
    id: row.step,
    title,
    since: row.openedAt.toISOString(),
    due: row.dueAt?.toISOString() ?? null,
    ...gate,
    summary: row.newest ?? `${row.flow}: ${title}`,
  });
}

function readCursor(cursor: string): { at: Date; park: string } {
  const match = /^(\d{1,15})\.(.{1,480})$/s.exec(cursor);
  if (!match) throw new Refusal('refused', 'cursor: take it as `next` gave it');
  return { at: new Date(Number(match[1])), park: match[2] ?? '' };
}
