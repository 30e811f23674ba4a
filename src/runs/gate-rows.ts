import type { Approval } from '../contract/runs.js';
import type { TableRow } from '../platform/db/contract.js';
import { GATE_ROUND } from './gate-mark.js';
import { itemOf, parkTitle } from './run-rows.js';
import type { ShownPark } from './waiting.js';

/** A gate with its run and workspace. */
export interface GateRow
  extends ShownPark,
    Pick<TableRow<'Run'>, 'rootId' | 'parentId' | 'workspaceId' | 'flow' | 'planId' | 'startedBy'> {
  readonly runId: string;
  /** The current name. */
  readonly workspace: string;
}

/** SQL: the columns of a ShownPark, of `park p`. */
export const PARK_COLUMNS = `p.id AS park, p.step, p.item, p.kind, p.spec, p.need, p.votes, p.opened_at AS "openedAt", p.due_at AS "dueAt",
  ${GATE_ROUND}`;

/** SQL: the columns of a GateRow, of GATES. */
export const GATE_COLUMNS = `${PARK_COLUMNS}, r.id AS "runId", r.root_id AS "rootId", r.parent_id AS "parentId",
  w.id AS "workspaceId", w.name AS workspace, r.flow, r.plan_id AS "planId", r.started_by AS "startedBy"`;

/** SQL: the gates that people decide, open or not. An eval's are decided by its cases. */
export const GATES = `workspace w JOIN run r ON r.workspace_id = w.id AND r.mode <> 'eval'
  JOIN park p ON p.run_id = r.id AND p.kind = 'approval'`;

/** A park's step and times: the first fields of every view of a park. */
type ParkHead = Pick<Approval, 'step' | 'id' | 'title' | 'item' | 'since' | 'due'>;

export function parkHead(park: Pick<ShownPark, 'step' | 'item' | 'spec' | 'openedAt' | 'dueAt'>): ParkHead {
  const { n, title } = parkTitle(park);
  const due = park.dueAt?.toISOString() ?? null;
  return { step: n, id: park.step, title, ...itemOf(park), since: park.openedAt.toISOString(), due };
}

/** A park with its workspace, flow and run. */
export function gateHead(row: GateRow): ParkHead & Pick<Approval, 'workspace' | 'runId' | 'flow'> {
  const { workspace, runId, flow } = row;
  return { workspace, runId, flow, ...parkHead(row) };
}
