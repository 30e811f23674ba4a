import type { InJson, RunRow, Sql, StepRow, TableRow } from '../../platform/db/contract.js';
import type { Json } from '../../shared/json.js';
import type { Turn } from '../../workflows/contract.js';
import { StaleTurn } from '../errors.js';
import type { StepStatus } from './batch.js';

export type LaneState = 'running' | 'parked' | 'forked' | 'child' | 'done' | 'failed';
export type Phase = 'start' | 'doer' | 'park' | 'after';

/** What a lane remembers between stops besides its position. */
export interface LaneMemory {
  /** Number of times that each step went back. */
  readonly counts?: Readonly<Record<string, number>>;
  /** The note for a step's next round. */
  readonly feedback?: Readonly<Record<string, string>>;
  /** Start of the active attempt (epoch ms), moved forward by inactive time. */
  readonly since?: number;
  /** When the lane was last active: the time of its newest write. */
  readonly at?: number;
  /** The lane is postponed and does not continue before this time (epoch ms). */
  readonly notBefore?: number;
  /** What delays the step's work, for the run's `waiting`. */
  readonly held?: HeldUp;
  /** Since when a suspect call of the step waits for its turn (epoch ms). */
  readonly inLineSince?: number;
  /** Tools that the step could not use, and why: each is reported once. */
  readonly unavailable?: Readonly<Record<string, string>>;
  /** The child run that the step waits for. */
  readonly child?: string;
  /** The child runs that the step's agent delegated to, and whose cost is not counted yet. */
  readonly handed?: readonly string[];
}

/** A step that waits: for a provider, for a runtime, or for the turn of a suspect call. */
export interface HeldUp {
  readonly kind: 'model' | 'preparing' | 'turn';
  readonly step: string;
  readonly item: number;
  /** Epoch ms; `until` is null when unknown. */
  readonly since: number;
  readonly until?: number | null;
  readonly reason: string;
}

export interface ClaimedLane {
  readonly fence: bigint;
  readonly writes: bigint;
  readonly pos: number;
  readonly round: number;
  readonly tries: number;
  readonly phase: Phase;
  readonly state: LaneState;
  readonly loops: LaneMemory;
  /** The item of an each that the lane works on; null in other lanes, and in lanes of older builds. */
  readonly item: { readonly value: Json } | null;
}

/** Claims the lane for this turn and attempt. Throws StaleTurn when a newer one holds it. */
export async function claimLane(sql: Sql, turn: Turn, attempt: number): Promise<ClaimedLane> {
  const [row] = await sql.query<ClaimedLane>({
    name: 'claim-lane',
    text: `WITH soft AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
      UPDATE lane SET fence = fence + 1, turn = $3, attempt = $4 FROM soft
      WHERE run_id = $1 AND lane = $2 AND (turn, attempt) < ($3, $4)
      RETURNING fence, writes, pos, round, tries, phase, state, loops, item`,
    values: [turn.runId, turn.lane, turn.turn, attempt],
  });
  if (!row) throw new StaleTurn(`turn ${turn.turn}.${attempt} of ${turn.runId}/${turn.lane} came too late`);
  return row;
}

export interface ClaimedRun
  extends InJson<
    Pick<
      RunRow,
      | 'id'
      | 'tenantId'
      | 'workspaceId'
      | 'flow'
      | 'planId'
      | 'revision'
      | 'librarySeq'
      | 'rootId'
      | 'parentId'
      | 'mode'
      | 'input'
      | 'trigger'
      | 'startedBy'
      | 'fromStep'
      | 'tags'
      | 'budgetNano'
      | 'spentNano'
      | 'reservedNano'
      | 'startedAt'
      | 'deadlineAt'
    >
  > {
  /** The runs whose slots a lane of this one needs while active; null or empty for most. */
  readonly slots: RunRow['slots'] | null;
  /** The runs whose step's timeout counts its active time; null or empty for most. */
  readonly clocks: RunRow['clocks'] | null;
  /** False until the first write, which has the event of the start. */
  readonly begun: boolean;
  readonly ended: boolean;
}

export interface ClaimedStep
  extends Pick<
    StepRow,
    | 'id'
    | 'item'
    | 'round'
    | 'lane'
    | 'attempts'
    | 'result'
    | 'data'
    | 'decision'
    | 'items'
    | 'feedback'
    | 'error'
    | 'copied'
  > {
  readonly status: StepStatus;
  readonly event_payload: StepRow['eventPayload'];
  readonly cost_nano: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  /** The result of the round before. */
  readonly previous: Pick<StepRow, 'result' | 'data'> | null;
}

export interface LanePark
  extends Pick<TableRow<'Park'>, 'id' | 'step' | 'item' | 'round' | 'decision' | 'decidedBy' | 'note' | 'payload'> {
  readonly kind: 'approval' | 'event' | 'timer';
  readonly opened: number;
  readonly due: number | null;
  readonly remind: number | null;
  readonly escalate: number | null;
  readonly decided: boolean;
  readonly decidedAt: number | null;
  /** The used-up budget that a gate is about. */
  readonly budget: Json | null;
  /** Digests of the tool calls of a gate, in their order; null for other gates. */
  readonly digests: Json | null;
}

export interface LaneView {
  readonly run: ClaimedRun;
  /**
   * The newest row of each step, of every lane. Of the items of an each, only those of this lane, or of the lanes that
   * it forked.
   */
  readonly steps: readonly ClaimedStep[];
  /** Parks of this lane. */
  readonly parks: readonly LanePark[];
  /** Lanes forked directly off this one; empty unless it is at its fork. */
  readonly lanes: readonly {
    readonly lane: string;
    readonly state: LaneState;
    readonly error: string | null;
    /** Epoch seconds. */
    readonly failedAt: number | null;
  }[];
}

const PARK = `jsonb_build_object('id', id, 'step', step, 'item', item, 'round', round, 'kind', kind,
  'opened', extract(epoch FROM opened_at) * 1000, 'due', extract(epoch FROM due_at) * 1000,
  'remind', extract(epoch FROM remind_at) * 1000, 'escalate', extract(epoch FROM escalate_at) * 1000, 'decided', decided_at IS NOT NULL,
  'decidedAt', extract(epoch FROM decided_at) * 1000, 'decision', decision, 'decidedBy', decided_by, 'note', note, 'payload', payload,
  'budget', spec->'budget', 'digests', CASE WHEN spec ? 'calls' THEN jsonb_path_query_array(spec, '$.calls[*].digest') END)`;

/** A separate statement after the claim: the claim may have waited for a write that this must see. */
const VIEW = `SELECT jsonb_build_object('id', r.id, 'tenantId', r.tenant_id, 'workspaceId', r.workspace_id, 'flow', r.flow,
    'planId', r.plan_id, 'revision', r.revision, 'librarySeq', r.library_seq, 'rootId', r.root_id, 'parentId', r.parent_id, 'slots', r.slots, 'clocks', r.clocks, 'mode', r.mode, 'input', r.input, 'trigger', r.trigger,
    'startedBy', r.started_by, 'fromStep', r.from_step, 'tags', r.tags, 'budgetNano', r.budget_nano::text,
    'spentNano', r.spent_nano::text, 'reservedNano', r.reserved_nano::text, 'begun', r.started_at IS NOT NULL, 'startedAt', coalesce(r.started_at, now()),
    'deadlineAt', CASE WHEN r.started_at IS NULL AND r.parent_id IS NULL THEN r.deadline_at + (now() - r.created_at) ELSE r.deadline_at END,
    'ended', r.finished_at IS NOT NULL) AS run,
  (SELECT coalesce(jsonb_agg(to_jsonb(x) || jsonb_build_object('previous', (SELECT jsonb_build_object('result', p.result, 'data', p.data)
        FROM step p WHERE p.run_id = $1 AND p.id = x.id AND p.item = x.item AND p.round = x.round - 1))), '[]')
    FROM (SELECT DISTINCT ON (id, item) id, item, round, lane, status, attempts, result, data,
      event_payload, decision, items, feedback, error, cost_nano::text, tokens_in, tokens_out, tokens_cached, copied
    FROM (SELECT * FROM step WHERE run_id = $1 AND item = 0
      UNION ALL SELECT * FROM step WHERE run_id = $1 AND item = $5 AND id = $4
      UNION ALL SELECT * FROM step WHERE $3 AND run_id = $1 AND item > 0 AND starts_with(lane, $2 || '/')) all_steps
    ORDER BY id, item, round DESC) x) AS steps,
  (SELECT coalesce(jsonb_agg(${PARK}), '[]')
    FROM park WHERE run_id = $1 AND lane = $2) AS parks,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('lane', lane.lane, 'state', state, 'error', error, 'failedAt',
      CASE WHEN state = 'failed' THEN extract(epoch FROM ends.at) END)), '[]')
    FROM lane LEFT JOIN (SELECT lane, max(finished_at) AS at FROM step WHERE $3 AND run_id = $1 GROUP BY lane) ends ON ends.lane = lane.lane
    WHERE $3 AND run_id = $1 AND starts_with(lane.lane, $2 || '/') AND position('/' IN substr(lane.lane, length($2) + 2)) = 0) AS lanes
  FROM run r WHERE r.id = $1`;

/** Matches a lane's name `…/<step>@<round>.<item>`. Branches of a group look alike. */
const ITEM = /\/([a-z_][a-z0-9_]*)@\d+\.(\d+)$/;

/**
 * An item reads its own rows and not its siblings': otherwise the cost of a thousand items would grow with their
 * square.
 */
export async function readLane(
  sql: Sql,
  { runId, lane }: Pick<Turn, 'runId' | 'lane'>,
  state: LaneState,
): Promise<LaneView | null> {
  const [, step = '', item = '-1'] = ITEM.exec(lane) ?? [];
  const values = [runId, lane, state === 'forked', step, Number(item)];
  const [row] = await sql.query<LaneView>({ name: 'read-lane', text: VIEW, values });
  return row ?? null;
}

/** The current parks of a lane. */
export async function readParks(sql: Sql, runId: string, lane: string): Promise<readonly LanePark[]> {
  const rows = await sql.query<{ park: LanePark }>({
    name: 'read-parks',
    text: `SELECT ${PARK} AS park FROM park WHERE run_id = $1 AND lane = $2`,
    values: [runId, lane],
  });
  return rows.map((row) => row.park);
}

export interface JournalCall
  extends Pick<TableRow<'Call'>, 'epoch' | 'turn' | 'call' | 'name' | 'acts' | 'starts' | 'result'> {
  readonly kind: 'model' | 'tool';
  /** `refused`: it was not made, and the model got the reason. */
  readonly state: 'started' | 'finished' | 'interrupted' | 'refused';
}

export interface StepJournal {
  /** Calls of the newest turns; for earlier ones the transcript has the results. */
  readonly calls: readonly JournalCall[];
  /** What the newest compaction left and what was added since; the whole transcript without a compaction. */
  readonly messages: readonly {
    readonly seq: number;
    readonly epoch: number;
    readonly role: string;
    readonly content: Json;
  }[];
  /** Memory files that calls of this attempt read, in order. */
  readonly seen: readonly Json[];
  /** Acting calls that earlier attempts of the step started; a new attempt gets their list. */
  readonly acted: readonly ActedCall[];
}

export interface ActedCall {
  /** Its name and its arguments. */
  readonly call: string;
  /** `unknown`: it was interrupted, or started and has no end. */
  readonly end: 'done' | 'failed' | 'unknown';
}

export const NO_JOURNAL: StepJournal = { calls: [], messages: [], seen: [], acted: [] };

/** The journal and the transcript of one attempt of a step. */
export async function readStepJournal(
  sql: Sql,
  runId: string,
  key: { readonly step: string; readonly item: number; readonly round: number; readonly attempt: number },
): Promise<StepJournal> {
  const [row] = await sql.query<StepJournal>({
    name: 'read-step-journal',
    text: `SELECT
      (SELECT coalesce(jsonb_agg(jsonb_build_object('epoch', epoch, 'turn', turn, 'call', call, 'kind', kind, 'name', name, 'acts', acts,
          'state', state, 'starts', starts, 'result', result) ORDER BY epoch, turn, call), '[]')
        FROM call WHERE run_id = $1 AND step = $2 AND item = $3 AND round = $4 AND attempt = $5
          AND turn >= (SELECT max(turn) - 1 FROM call WHERE run_id = $1 AND step = $2 AND item = $3 AND round = $4 AND attempt = $5)) AS calls,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('seq', seq, 'epoch', epoch, 'role', role, 'content', content) ORDER BY seq), '[]')
        FROM message WHERE run_id = $1 AND step = $2 AND item = $3 AND round = $4 AND attempt = $5 AND seq >= coalesce((
          SELECT (content->'past'->>'from')::int FROM message
          WHERE run_id = $1 AND step = $2 AND item = $3 AND round = $4 AND attempt = $5 AND epoch > 0 AND content->>'why' = 'compacted'
          ORDER BY epoch DESC LIMIT 1), 0)) AS messages,
      (SELECT coalesce(jsonb_agg(result->'seen' ORDER BY turn, call), '[]')
        FROM call WHERE run_id = $1 AND step = $2 AND item = $3 AND round = $4 AND attempt = $5
          AND jsonb_typeof(result->'seen') = 'array' AND result->'seen' <> '[]') AS seen,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('call', name || ' ' || coalesce(result->>'args', ''), 'end', CASE
          WHEN state <> 'finished' THEN 'unknown' WHEN result->'isError' = 'true' THEN 'failed' ELSE 'done' END)
          ORDER BY attempt, epoch, turn, call), '[]')
        FROM call WHERE run_id = $1 AND step = $2 AND item = $3 AND round = $4 AND attempt < $5 AND acts) AS acted`,
    values: [runId, key.step, key.item, key.round, key.attempt],
  });
  return row ?? NO_JOURNAL;
}
