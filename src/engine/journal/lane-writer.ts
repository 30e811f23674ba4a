import type { Db, Sql } from '../../db/contract.js';
import { isContention } from '../../db/index.js';
import { Refusal } from '../../shared/refusal.js';
import { storableJson } from '../../shared/storable-json.js';
import { Ended, Fenced, OverBudget } from '../errors.js';
import { type Batch, emptyBatch, isSoft, type SharedCap, withoutStarts } from './batch.js';
import type { ClaimedLane, LaneMemory, LaneState, Phase } from './claim.js';
import { WRITE, WRITE_SOFT } from './write-sql.js';

const RETRY_FOR_MS = 60_000;

interface Answer {
  readonly mine: number;
  readonly seq: bigint | null;
  readonly calls: number;
}

/**
 * The one hand that writes for a lane while this attempt holds it. What is put into `batch` goes out whole with the
 * next flush, in order; a write that lost its connection is tried again for up to a minute with its content kept.
 */
export class LaneWriter {
  batch: Batch = emptyBatch();
  pos: number;
  round: number;
  tries: number;
  phase: Phase;
  state: LaneState;
  memory: LaneMemory;
  error: string | null = null;
  /** The caps shared with other lanes that this lane's calls count under, as they were last read. */
  caps: readonly SharedCap[] = [];
  private writes: bigint;
  private broken: unknown = null;
  private chain: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly db: Db,
    private readonly ref: {
      readonly runId: string;
      readonly lane: string;
      /** Of an each, from 1; 0 in other lanes. */
      readonly item: number;
      readonly signal: AbortSignal;
      now(): number;
      /** The one way into the rows: what must not be told is left out here. */
      hide<T>(value: T): T;
      /** After each write; `ended` when it ended the run. */
      onWritten(ended: boolean): void;
    },
    private readonly claimed: ClaimedLane,
  ) {
    this.pos = claimed.pos;
    this.round = claimed.round;
    this.tries = claimed.tries;
    this.phase = claimed.phase;
    this.state = claimed.state;
    this.memory = claimed.loops;
    this.writes = claimed.writes;
  }

  event(type: string, data: object = {}): void {
    // Each event of a step names its item, so that people can tell the items of an each apart.
    const told = 'step' in data ? { item: this.ref.item, ...data } : data;
    this.batch.events.push({ type, data: told as Batch['events'][number]['data'] });
  }

  /** Writes the batch while the work goes on; if it fails, so does the next flush. For what must not wait to be durable. */
  flushSoon(): void {
    this.flush().catch(() => undefined);
  }

  /** Resolves when no write is under way, whatever came of it: then the rows and the batch together are the truth. */
  async quiet(): Promise<void> {
    await this.chain;
  }

  /** Writes the batch. Throws Fenced, Ended or OverBudget; then nothing was written. */
  flush(): Promise<void> {
    const batch = this.batch;
    this.batch = emptyBatch();
    const { pos, round, tries, phase, state, memory, error } = this;
    const gates = batch.parks.filter((park) => park.kind === 'approval').length;
    // What models and programs say may hold what jsonb refuses.
    const body = storableJson({
      ...this.ref.hide(batch),
      gates,
      reserve: String(batch.reserve),
      release: String(batch.release),
      spend: String(batch.spend),
      caps: batch.reserve > 0n ? this.caps : [],
      pools: touchesPools(batch, this.caps),
      at: {
        pos,
        round,
        tries,
        phase,
        state,
        loops: { ...this.ref.hide(memory), at: this.ref.now() },
        error: this.ref.hide(error),
      },
    });
    const written = this.chain
      .then(() => {
        if (this.broken !== null) throw this.broken;
        return this.send(body, batch);
      })
      .catch((error: unknown) => {
        // What was done before the call that found no room is still to be recorded.
        if (error instanceof OverBudget) this.batch = withoutStarts(batch);
        else this.broken = error;
        throw error;
      });
    this.chain = written.catch(() => undefined);
    return written;
  }

  /** Throws Fenced when this attempt no longer holds the lane. For transactions that write besides the journal. */
  readonly guard = async (sql: Sql): Promise<void> => {
    const [row] = await sql.query<{ ended: boolean }>({
      name: 'guard-lane',
      text: `SELECT (SELECT finished_at IS NOT NULL FROM run WHERE id = $1) AS ended
        FROM lane WHERE run_id = $1 AND lane = $2 AND fence = $3 FOR UPDATE`,
      values: [this.ref.runId, this.ref.lane, this.claimed.fence],
    });
    if (!row) throw new Fenced();
    if (row.ended) throw new Ended();
  };

  private async send(body: string, batch: Batch): Promise<void> {
    const soft = isSoft(batch);
    const { runId, lane, signal } = this.ref;
    let unsure = false;
    let answer: Answer | undefined;
    for (let wait = 100, spent = 0; answer === undefined; wait = Math.min(wait * 2, 2_000)) {
      try {
        [answer] = await this.db.query<Answer>({
          name: soft ? 'journal-soft' : 'journal',
          text: soft ? WRITE_SOFT : WRITE,
          values: [runId, lane, this.claimed.fence, body, this.writes],
        });
      } catch (error) {
        if (isOverCap(error)) throw new OverBudget('a shared budget is used up');
        const contended = isContention(error);
        if (!(contended || isConnectionLoss(error)) || spent > RETRY_FOR_MS || signal.aborted) throw error;
        // The loser of a deadlock wrote nothing, and that is sure.
        unsure ||= !contended;
        spent += wait;
        await pause(wait);
      }
    }
    if (answer.mine === 0) {
      if (!unsure || !(await this.wasApplied())) throw new Fenced();
    } else if (answer.seq === null) {
      throw batch.reserve > 0n && !(await this.hasEnded()) ? new OverBudget('the budget is used up') : new Ended();
    }
    this.writes += 1n;
    this.ref.onWritten(batch.end !== null);
  }

  /** The lost answer of the write before may have been a yes: then the count of writes has moved on by one. */
  private async wasApplied(): Promise<boolean> {
    const [row] = await this.db.query<{ fence: bigint; writes: bigint }>(
      'SELECT fence, writes FROM lane WHERE run_id = $1 AND lane = $2',
      [this.ref.runId, this.ref.lane],
    );
    return row !== undefined && row.fence === this.claimed.fence && row.writes === this.writes + 1n;
  }

  private async hasEnded(): Promise<boolean> {
    const [row] = await this.db.query<{ ended: boolean }>(
      'SELECT finished_at IS NOT NULL AS ended FROM run WHERE id = $1',
      [this.ref.runId],
    );
    return row?.ended ?? true;
  }
}

/** Whether a write sets aside, uses or gives back something of a shared cap; most runs have none. */
function touchesPools(batch: Batch, caps: readonly SharedCap[]): boolean {
  if (batch.usage.some(({ keys }) => keys.length > 0)) return true;
  return caps.length > 0 ? batch.reserve > 0n || batch.release > 0n : batch.settlesLost;
}

/** What `hold_caps` raises when a shared cap has no room: the whole statement was undone. */
function isOverCap(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SB402';
}

/** True for an error after which nobody knows whether the statement was carried out: the database's one word for it. */
function isConnectionLoss(error: unknown): boolean {
  return error instanceof Refusal && error.kind === 'unavailable';
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
