import { livePlan, readLiveTree } from '../content/index.js';
import type { Deps } from '../deps.js';
import { lockWorkspace, type WorkspaceRow } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { type DueRow, forEachDue } from '../platform/db/index.js';
import { announceStarted, type BegunRun } from '../runs/index.js';
import { failpoint } from '../shared/failpoint.js';
import type { JsonObject } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { type Arrival, acceptDelivery, recordRefusedDelivery } from './deliver.js';
import { dedupeKey, noteDelivery } from './deliveries.js';
import { settingsOf, type TriggerSettings } from './settings.js';

interface Event {
  readonly id: bigint;
  readonly workspaceId: string;
  readonly kind: string;
  readonly body: JsonObject;
  readonly chain: readonly string[];
}

/** The maximum number of flows that events start one after the other. */
const MAX_CHAIN = 8;

/** Starts the flows that listen to raised events and returns how many events it handled. Safe to run in several processes at once. */
export async function sweepEvents(deps: Deps, signal?: AbortSignal): Promise<number> {
  const rows = await deps.db.query<DueRow & Pick<Event, 'id' | 'workspaceId'>>({
    name: 'due-events',
    text: `SELECT id, workspace_id AS "workspaceId", tries FROM raised_event
      WHERE due_at <= now() + interval '1 ms' ORDER BY id LIMIT 100`,
  });
  const work = async (event: (typeof rows)[number]) => {
    const begun = await deps.db.transaction((sql) => startListeners(deps, sql, event));
    for (const run of begun) announceStarted(deps, run);
  };
  return forEachDue(deps, 'raised_event', { rows, work, signal });
}

/** Deletes the event's row in the transaction that starts all of its runs. */
async function startListeners(
  deps: Deps,
  sql: Sql,
  { id, workspaceId }: Pick<Event, 'id' | 'workspaceId'>,
): Promise<readonly BegunRun[]> {
  // Locks the workspace first, in the same order as its deletion, to avoid a deadlock.
  const workspace = await lockWorkspace(sql, workspaceId);
  const [event] = await sql.query<Event>(
    `DELETE FROM raised_event WHERE id = (SELECT id FROM raised_event WHERE id = $1 FOR UPDATE SKIP LOCKED)
      RETURNING id, workspace_id AS "workspaceId", kind, body, chain`,
    [id],
  );
  if (!workspace || !event) return [];
  const { index } = await readLiveTree(sql, workspace.id);
  const begun: BegunRun[] = [];
  for (const { name, enabled, triggers } of index?.flows ?? []) {
    if (!enabled || !triggers.includes('event')) continue;
    const run = await startListener(deps, sql, { workspace, event, flow: name });
    if (run) begun.push(run);
  }
  if (begun.length > 0) failpoint('event-taken');
  return begun;
}

interface Listener {
  readonly workspace: WorkspaceRow;
  readonly event: Event;
  readonly flow: string;
}

async function startListener(deps: Deps, sql: Sql, listener: Listener): Promise<BegunRun | null> {
  const { workspace, event, flow } = listener;
  const live = await livePlan(sql, workspace, `flows/${flow}`);
  if (!live || !settingsOf(live.plan).events.includes(event.kind) || event.chain.includes(flow)) return null;
  const arrival = arrivalOf(deps, listener, settingsOf(live.plan));
  if (event.chain.length >= MAX_CHAIN) {
    const detail = `events started ${event.chain.join(', ')} one after the other, and no more than ${MAX_CHAIN} are`;
    const place = { workspaceId: workspace.id, flow, kind: 'event', address: null } as const;
    await noteDelivery(sql, { ...place, outcome: 'loop', detail });
    return null;
  }
  // A flow that refuses the event rolls back its own writes only.
  await sql.query('SAVEPOINT listener');
  try {
    return (await acceptDelivery(deps, sql, arrival)).begun;
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
    await sql.query('ROLLBACK TO SAVEPOINT listener');
    await recordRefusedDelivery(sql, arrival, error);
    return null;
  }
}

function arrivalOf(deps: Deps, { workspace, event, flow }: Listener, settings: TriggerSettings): Arrival {
  const { dedupe, debounceMs } = settings;
  const debounced = debounceMs !== undefined;
  const at = new Date(deps.clock.now()).toISOString();
  const chain = [...event.chain, flow];
  const key = dedupe === undefined ? null : dedupeKey(dedupe, { header: () => undefined, body: () => event.body });
  return {
    kind: 'event',
    workspace,
    flow,
    input: event.body,
    trigger: { kind: 'event', at, event: event.kind, chain, headers: {}, query: {} },
    // The dedupe key identifies duplicates, or groups a burst under `debounce`.
    deliveryId: debounced ? null : key,
    burstKey: debounced ? key : null,
    address: null,
  };
}
