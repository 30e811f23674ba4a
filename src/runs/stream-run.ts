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
import { type Delta, endsStep, keepDelta, orderDeltas, roundKey, type StepRound } from './stream-deltas.js';
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
    const ended = over ? new Set<string>() : await readEnded(deps.db, input.runId);
    while (!over && !input.signal.aborted) {
      const { run, rows } = await readNext(deps, input.runId, seq);
      over = !run || (run.ended && Number(rows.at(-1)?.seq ?? seq) >= run.lastSeq);
      if (over || rows.some(endsStep)) await untilDelivered(deps.db, input.signal);
      for (const each of orderDeltas(rows, deltas, ended)) {
        if ('row' in each) seq = Number(each.row.seq);
        yield 'row' in each ? eventItem(each.row, input.show) : deltaItem(each.delta, input.show);
      }
      if (!over && rows.length < PAGE) await wakeup.wait(READ_AGAIN_MS, input.signal);
    }
    if (over) yield { event: 'end', data: { runId: input.runId } };
  } finally {
    unwatch();
  }
}

/**
 * Resolves once the notifications that were sent before have arrived here: Postgres delivers them in the order of their
 * commits. Without it the end of a step or run, which is read from rows, overtakes its last deltas.
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

/** Reads which rounds of steps have ended: a client that resumes may have seen their ends already. */
async function readEnded(db: Db, runId: string): Promise<Set<string>> {
  const rounds = await db.query<StepRound>({
    name: 'stream-ended',
    text: 'SELECT id AS step, item, round FROM step WHERE run_id = $1 AND finished_at IS NOT NULL',
    values: [runId],
  });
  return new Set(rounds.map(roundKey));
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

function eventItem(row: EventRow, show: Show): StreamItem {
  const seq = Number(row.seq);
  const data = { ...(isRecord(row.data) ? row.data : {}), seq, type: row.type, at: row.at.toISOString() };
  return { event: row.type, id: String(seq), data: show(data) };
}

function deltaItem({ kind, ...delta }: Delta, show: Show): StreamItem {
  return { event: kind, data: show(delta) };
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
