import type { Json } from '../../shared/json.js';

/** A step's row after the write. Money is nano-USD as a string, since JSON has no bigint. */
export interface StepWrite {
  readonly id: string;
  readonly item: number;
  readonly round: number;
  readonly status: StepStatus;
  readonly attempts: number;
  readonly result: string | null;
  readonly data: Json | undefined;
  readonly event_payload: Json | undefined;
  readonly decision: Json | undefined;
  readonly items: Json | undefined;
  readonly feedback: string | null;
  readonly error: string | null;
  readonly cost_nano: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  readonly ended: boolean;
}

export type StepStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'skipped';

/** Identifies a call: with the run and lane it is the journal's key. Call 0 is the model's, 1… are the turn's tools. */
export interface CallKey {
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly attempt: number;
  readonly epoch: number;
  readonly turn: number;
  readonly call: number;
}

export interface CallWrite extends CallKey {
  readonly kind: 'model' | 'tool';
  readonly name: string;
  readonly acts: boolean;
  readonly state: 'started' | 'finished' | 'interrupted' | 'refused';
  readonly result: Json | undefined;
}

export interface MessageWrite {
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly attempt: number;
  readonly epoch: number;
  readonly seq: number;
  readonly role: string;
  readonly content: Json;
}

export interface ParkWrite {
  readonly id: string;
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly kind: 'approval' | 'event' | 'timer';
  readonly spec: Json;
  readonly need: number;
  /** Epoch ms; null never falls due. */
  readonly due: number | null;
  /** Epoch ms of the first reminder and of the escalation; left out for never. */
  readonly remind?: number | null;
  readonly escalate?: number | null;
}

export interface ChildWrite {
  readonly id: string;
  readonly flow: string;
  readonly plan: string;
  readonly input: Json | undefined;
  readonly step: string;
  readonly budget: string | null;
  readonly deadline: number | null;
  readonly tags: readonly string[];
  /** The runs whose slots it needs while active. */
  readonly slots: readonly string[];
  /** Maximum active time, ms, when its step sets one, and the runs whose clocks count it. */
  readonly limit: number | null;
  readonly clocks: readonly string[];
}

export interface LaneWrite {
  readonly lane: string;
  /** The item of an each that it works on, wrapped: an item may be null. */
  readonly item: { readonly value: Json } | null;
}

export interface UsageWrite {
  readonly step: string;
  readonly meter: 'model' | 'eval' | 'sandbox';
  readonly model: string | null;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  readonly nano: string | null;
  readonly source: string;
  readonly estimated: boolean;
  /** The shared budgets that it counts under. */
  readonly keys: readonly string[];
}

export interface EventWrite {
  readonly type: string;
  readonly data: Json;
}

/** A budget over calls of several lanes: the key of its row in `spent`, and nano-USD as a string. */
export interface SharedCap {
  readonly key: string;
  readonly cap: string;
}

/** The content of one journal write; it is committed whole or not at all. */
export interface Batch {
  readonly events: EventWrite[];
  readonly calls: CallWrite[];
  readonly messages: MessageWrite[];
  readonly steps: StepWrite[];
  readonly parks: ParkWrite[];
  readonly lanes: LaneWrite[];
  readonly children: ChildWrite[];
  readonly usage: UsageWrite[];
  readonly memory: string[];
  /** Nano-USD: what the next call reserves, what a settled one releases, and what was spent. */
  reserve: bigint;
  release: bigint;
  spend: bigint;
  /** True when it settles a call of an earlier attempt, which may have reserved from budgets unknown here. */
  settlesLost: boolean;
  end: {
    readonly status: 'completed' | 'failed';
    readonly error: string | null;
    readonly summary: string | null;
  } | null;
}

export function emptyBatch(): Batch {
  return {
    events: [],
    calls: [],
    messages: [],
    steps: [],
    parks: [],
    lanes: [],
    children: [],
    usage: [],
    memory: [],
    reserve: 0n,
    release: 0n,
    spend: 0n,
    settlesLost: false,
    end: null,
  };
}

/**
 * True when the batch may be lost with the database's last milliseconds, since the loss only repeats unfinished work.
 * The start of a model call must never be lost, since the call may have been billed.
 */
export function isSoft(batch: Batch): boolean {
  return (
    batch.end === null &&
    batch.spend === 0n &&
    batch.calls.length > 0 &&
    batch.calls.every((call) => call.state === 'started' && call.kind === 'tool' && !call.acts) &&
    batch.parks.length + batch.lanes.length + batch.children.length + batch.memory.length === 0
  );
}

/** What remains of a batch when its next call exceeded the budget: everything but that call's start. */
export function withoutStarts(batch: Batch): Batch {
  return {
    ...batch,
    calls: batch.calls.filter((call) => call.state !== 'started'),
    events: batch.events.filter((event) => event.type !== 'model.started'),
    reserve: 0n,
  };
}
