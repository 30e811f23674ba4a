import type { Approval } from '../contract/runs.js';
import type { Json } from '../shared/json.js';
import { GATE_ROUND } from './gate-mark.js';
import { itemOf, parkTitle } from './run-rows.js';
import type { ParkRow } from './waiting.js';

/** A gate with its run and workspace. */
export interface GateRow extends ParkRow {
  readonly runId: string;
  readonly rootId: string;
  readonly parentId: string | null;
  readonly workspaceId: string;
  /** The current name. */
  readonly workspace: string;
  readonly flow: string;
  readonly planId: string;
  readonly startedBy: Json;
}

/** SQL: the columns of a ParkRow, of `park p`. */
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

export function parkHead(park: Pick<ParkRow, 'step' | 'item' | 'spec' | 'openedAt' | 'dueAt'>): ParkHead {
  const { n, title } = parkTitle(park);
  const due = park.dueAt?.toISOString() ?? null;
  return { step: n, id: park.step, title, ...itemOf(park), since: park.openedAt.toISOString(), due };
}

/** A park with its workspace, flow and run. */
export function gateHead(row: GateRow): ParkHead & Pick<Approval, 'workspace' | 'runId' | 'flow'> {
  const { workspace, runId, flow } = row;
  return { workspace, runId, flow, ...parkHead(row) };
}
