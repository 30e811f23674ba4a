import type { Deps } from '../deps.js';
import { DELTA_CHANNEL, EVENT_CHANNEL } from '../engine/index.js';
import { findWorkspace } from '../people/index.js';
import type { Db } from '../platform/db/contract.js';
import { newId } from '../shared/ids.js';
import { isRecord } from '../shared/json.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { createWakeup } from '../shared/wakeup.js';
import { getRun } from './get-run.js';
import { hideTokens, type Show } from './hide-tokens.js';
import type { EventRow } from './trace.js';

const hubs = new WeakMap<Db, Hub>();

export interface StreamItem {
  readonly event: string;
  readonly data: unknown;
  /** The run's gapless sequence number. Items that are not stored (snapshot, deltas, end) have none. */
  readonly id?: string;
}

interface StreamInput {
  readonly workspace: string;
  readonly runId: string;
  /** Resume after this seq; null begins with a snapshot. */
  readonly after: number | null;
  readonly signal: AbortSignal;
}

const PAGE = 500;

/** A lost notification delays a stream by this much at most. */
const READ_AGAIN_MS = 2_000;

/** Deltas buffered for a slow client, about a megabyte; beyond that the stream resets. */
const MOST_DELTAS = 1_000;

/**
 * Streams a run: a snapshot, then its events in order without gaps, then `end`. Null when the caller has already
 * received the end. The stream stays open while the run is parked.
 */
export async function streamRun(
  deps: Deps,
  caller: Caller,
  input: StreamInput,
): Promise<AsyncGenerator<StreamItem> | null> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const run = await deps.db.prisma.run.findFirst({
    select: { lastSeq: true, finishedAt: true, parentId: true, rootId: true },
    where: { id: input.runId, workspaceId: workspace.id },
  });
  if (!run) throw notFound('run');
  if (run.finishedAt !== null && input.after !== null && BigInt(input.after) >= run.lastSeq) return null;
  return follow(deps, caller, { ...input, show: hideTokens(deps, caller, [input.runId, run.parentId, run.rootId]) });
}

async function* follow(
  deps: Deps,
  caller: Caller,
  input: StreamInput & { readonly show: Show },
): AsyncGenerator<StreamItem> {
  const wakeup = createWakeup();
  const deltas: Delta[] = [];
  // Watch before the snapshot is read, so that no change is missed.
  const unwatch = watchRun(deps.db, input.runId, {
    onEvents: wakeup.set,
    onDelta: (delta) => {
      keepDelta(deltas, delta);
      wakeup.set();
    },
  });
  try {
    let seq = input.after ?? 0;
    let over = false;
    if (input.after === null) {
      const snapshot = await getRun(deps, caller, input);
      yield { event: 'snapshot', data: snapshot };
      seq = snapshot.lastSeq;
      over = snapshot.finishedAt !== null;
    }
    while (!over && !input.signal.aborted) {
      const { run, rows } = await readNext(deps, input.runId, seq);
      for (const row of rows) {
        seq = Number(row.seq);
        yield { event: row.type, id: String(seq), data: input.show(eventData(row)) };
      }
      over = !run || (run.ended && seq >= run.lastSeq);
      if (over) await untilDelivered(deps.db, input.signal);
      for (const { kind, ...delta } of deltas.splice(0)) yield { event: kind, data: input.show(delta) };
      if (!over && rows.length < PAGE) await wakeup.wait(READ_AGAIN_MS, input.signal);
    }
    if (over) yield { event: 'end', data: { runId: input.runId } };
  } finally {
    unwatch();
  }
}

/**
 * Resolves once the notifications that were sent before have arrived here: Postgres delivers them in the order of their
 * commits. Without it a run's end, which is read from its rows, overtakes its last deltas.
 */
async function untilDelivered(db: Db, signal: AbortSignal): Promise<void> {
  const mark = newId();
  const arrived = createWakeup();
  const unwatch = watchRun(db, mark, { onEvents: arrived.set, onDelta: () => undefined });
  try {
    await db.notify(EVENT_CHANNEL, mark);
    await arrived.wait(READ_AGAIN_MS, signal);
  } catch {
    // Deltas may be lost, and the end is still sent.
  } finally {
    unwatch();
  }
}

interface RunEnd {
  readonly lastSeq: bigint;
  readonly ended: boolean;
}

interface NextEvents {
  /** How far the run has got; undefined when it was deleted. */
  readonly run: RunEnd | undefined;
  readonly rows: EventRow[];
}

/** Reads the run and its events after `seq` in one statement, so that they agree. */
async function readNext(deps: Deps, runId: string, seq: number): Promise<NextEvents> {
  const rows = await deps.db.query<RunEnd & EventRow & { seq: bigint | null }>({
    name: 'stream-look',
    text: `SELECT r.last_seq AS "lastSeq", r.finished_at IS NOT NULL AS ended, e.seq, e.type, e.data, e.at FROM run r
      LEFT JOIN LATERAL (SELECT seq, type, data, at FROM run_event WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3) e ON true
      WHERE r.id = $1`,
    values: [runId, seq, PAGE],
  });
  return { run: rows[0], rows: rows.filter((row) => row.seq !== null) };
}

/**
 * Adds a delta. When the buffer is full, replaces its content by a reset for each step: deltas are not stored, and the
 * step's result has the whole text.
 */
export function keepDelta(deltas: Delta[], delta: Delta): void {
  if (deltas.length >= MOST_DELTAS) {
    const resets = [...deltas, delta].map((each) => ({ ...each, kind: 'reset' as const, text: '' }));
    const byStep = new Map(resets.map((reset) => [`${reset.step} ${reset.item} ${reset.round}`, reset]));
    deltas.splice(0, deltas.length, ...byStep.values());
  }
  deltas.push(delta);
}

function eventData(row: EventRow): object {
  return { ...(isRecord(row.data) ? row.data : {}), seq: Number(row.seq), type: row.type, at: row.at.toISOString() };
}

interface Delta {
  readonly kind: 'delta' | 'output' | 'reset';
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly text: string;
}

interface Watcher {
  onEvents(): void;
  onDelta(delta: Delta): void;
}

interface Hub {
  readonly watchers: Map<string, Set<Watcher>>;
  stop: (() => void) | null;
}

/** Watches a run. All streams of a process share one LISTEN connection. Returns a function that ends the watch. */
function watchRun(db: Db, runId: string, watcher: Watcher): () => void {
  const hub = hubs.get(db) ?? { watchers: new Map(), stop: null };
  hubs.set(db, hub);
  const set = hub.watchers.get(runId) ?? new Set();
  set.add(watcher);
  hub.watchers.set(runId, set);
  hub.stop ??= listen(db, hub);
  return () => {
    set.delete(watcher);
    if (set.size === 0 && hub.watchers.get(runId) === set) hub.watchers.delete(runId);
    if (hub.watchers.size > 0) return;
    hub.stop?.();
    hub.stop = null;
  };
}

function listen(db: Db, hub: Hub): () => void {
  const stops = [
    db.listen(EVENT_CHANNEL, (runId) => {
      for (const watcher of hub.watchers.get(runId) ?? []) watcher.onEvents();
    }),
    db.listen(DELTA_CHANNEL, (payload) => {
      const delta: unknown = JSON.parse(payload);
      if (!isRecord(delta) || typeof delta.runId !== 'string') return;
      const { runId, ...rest } = delta;
      for (const watcher of hub.watchers.get(runId) ?? []) watcher.onDelta(rest as unknown as Delta);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
