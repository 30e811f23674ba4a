import { loadPlan } from '../content/index.js';
import type { Approval, ApprovalList } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import { timeCursors } from '../shared/cursor.js';
import type { Caller } from '../shared/roles.js';
import { GATE_COLUMNS, GATES, type GateRow, gateHead } from './gate-rows.js';
import { hideTokens } from './hide-tokens.js';
import type { ShownStep } from './step-views.js';
import { gateView } from './waiting.js';

const cursors = timeCursors('approvals');

interface Row extends GateRow {
  /** The first line of the newest result; null when there is none yet. */
  readonly newest: string | null;
  /** The rows of the steps that the gate lets a decider change. */
  readonly editable: readonly Pick<ShownStep, 'id' | 'item' | 'result' | 'data'>[];
}

/** Gates of live runs (the query uses their index), oldest first. */
const OPEN_GATES = `SELECT ${GATE_COLUMNS},
    (SELECT left(split_part(ltrim(s.result, E' \\t\\r\\n'), E'\\n', 1), 300) FROM step s
      WHERE s.run_id = r.id AND s.result ~ '\\S' ORDER BY s.finished_at DESC NULLS FIRST, s.started_at DESC LIMIT 1) AS newest,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'item', s.item, 'result', s.result, 'data', s.data) ORDER BY s.round), '[]')
      FROM step s WHERE s.run_id = r.id AND s.item = 0 AND p.spec->'edit' ? s.id) AS editable
  FROM ${GATES}
  WHERE w.tenant_id = $1 AND ($2::text[] IS NULL OR w.name = ANY($2)) AND r.finished_at IS NULL AND p.decided_at IS NULL
    AND ($3::timestamptz IS NULL OR (p.opened_at, p.id) > ($3, $4))
  ORDER BY p.opened_at, p.id LIMIT $5`;

/** Everything that waits for a person in the workspaces that the caller can access, longest wait first, in pages. */
export async function listApprovals(
  deps: Deps,
  caller: Caller,
  input: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<ApprovalList> {
  const after = cursors.read(input.cursor);
  const values = [caller.tenant, caller.workspaces, after?.at ?? null, after?.id ?? null, input.limit + 1];
  const rows = await deps.db.query<Row>({ name: 'list-approvals', text: OPEN_GATES, values });
  const { page, next } = cursors.page(rows, input.limit, ({ openedAt: at, park: id }) => ({ at, id }));
  const approvals: Approval[] = [];
  for (const row of page) approvals.push(await viewOf(deps, caller, row));
  return { approvals, next };
}

async function viewOf(deps: Deps, caller: Caller, row: Row): Promise<Approval> {
  const plan = await loadPlan(deps, row.workspaceId, row.planId);
  const rows = { run: row, steps: row.editable as unknown as readonly ShownStep[] };
  const head = gateHead(row);
  return hideTokens(deps, caller, [row.runId, row.parentId, row.rootId])({
    ...head,
    ...gateView(plan, rows, row, { caller, nowMs: deps.clock.now() }),
    summary: row.newest ?? `${row.flow}: ${head.title}`,
  });
}
