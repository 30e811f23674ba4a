import type { EventPage } from '../contract/long-runs.js';
import type { Deps } from '../deps.js';
import { releaseUrlOf } from '../engine/index.js';
import { findWorkspace } from '../people/index.js';
import { numberCursors } from '../shared/cursor.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { hideTokens } from './hide-tokens.js';
import { type EventRow, stepOf, traceLine } from './trace.js';

const cursors = numberCursors('events', 9);

export interface ListEventsInput {
  readonly workspace: string;
  readonly runId: string;
  /** Only those of this step, by its id. */
  readonly step?: string | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** All events of a run, oldest first, in pages. A step's trace in the run's view shows only the newest lines. */
export async function listEvents(deps: Deps, caller: Caller, input: ListEventsInput): Promise<EventPage> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const run = await deps.db.prisma.run.findFirst({
    select: { parentId: true, rootId: true },
    where: { id: input.runId, workspaceId: workspace.id },
  });
  if (!run) throw notFound('run');
  const rows = await deps.db.query<EventRow>({
    name: 'list-events',
    text: `SELECT seq, type, data, at FROM run_event WHERE run_id = $1 AND seq > $2
      AND ($3::text IS NULL OR data->>'step' = $3) ORDER BY seq LIMIT $4`,
    values: [
      input.runId,
      Math.max(Number(cursors.read(input.cursor) ?? 0), input.after ?? 0),
      input.step ?? null,
      input.limit + 1,
    ],
  });
  const { page, next } = cursors.page(rows, input.limit, ({ seq }) => seq);
  const releaseUrl = (step: string): string =>
    releaseUrlOf(deps, { id: input.runId, tenantId: workspace.tenantId, workspace: workspace.name }, step);
  const show = hideTokens(deps, caller, [input.runId, run.parentId, run.rootId]);
  return show({
    events: page.map((row) => ({ ...traceLine(row, releaseUrl), seq: Number(row.seq), step: stepOf(row) })),
    next,
  });
}
