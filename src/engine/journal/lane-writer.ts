import type { Db, Sql } from '../../platform/db/contract.js';
import { isContention } from '../../platform/db/index.js';
import { sleep } from '../../shared/deadline.js';
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
 * The lane's single writer while this attempt holds it. The content of `batch` is written whole with the next flush, in
 * order. A write that lost its connection is retried for up to a minute with its content kept.
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
  /** The shared budgets that this lane's calls count under, as last read. */
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
      /** Masks secrets. All content passes through here on its way into rows. */
      hide<T>(value: T): T;
      /** Called after each write; `ended` when it ended the run. */
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
    // Each event of a step has its item's number, so that people can distinguish the items of an each.
    const numbered = 'step' in data ? { item: this.ref.item, ...data } : data;
    this.batch.events.push({ type, data: numbered as Batch['events'][number]['data'] });
  }

  /** Writes the batch in the background, for content that must be durable soon. If it fails, so does the next flush. */
  flushSoon(): void {
    this.flush().catch(() => undefined);
  }

  /**
   * Resolves when no write is in progress, whether the last one succeeded or failed. Then rows and batch are current.
   */
  async quiet(): Promise<void> {
    await this.chain;
  }

  /** Writes the batch. Throws Fenced, Ended or OverBudget; then nothing was written. */
  flush(): Promise<void> {
    const batch = this.batch;
    this.batch = emptyBatch();
    const { pos, round, tries, phase, state, memory, error } = this;
    const gates = batch.parks.filter((park) => park.kind === 'approval').length;
    // Texts of models and programs may contain characters that jsonb refuses.
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
        // Work before the call that exceeded the budget still has to be recorded.
        if (error instanceof OverBudget) this.batch = withoutStarts(batch);
        else this.broken = error;
        throw error;
      });
    this.chain = written.catch(() => undefined);
    return written;
  }

  /** Throws Fenced when this attempt no longer holds the lane. For transactions that write outside the journal. */
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
        // The transaction that loses a deadlock was rolled back, so it certainly wrote nothing.
        unsure ||= !contended;
        spent += wait;
        await sleep(wait);
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

  /**
   * The previous write may have succeeded although its answer was lost: then the lane's count of writes has grown by
   * one.
   */
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

/** True if a write reserves, books or releases something of a shared budget; most runs have none. */
function touchesPools(batch: Batch, caps: readonly SharedCap[]): boolean {
  if (batch.usage.some(({ keys }) => keys.length > 0)) return true;
  return caps.length > 0 ? batch.reserve > 0n || batch.release > 0n : batch.settlesLost;
}

/**
 * The error that the SQL function `hold_caps` raises when a shared budget has no room. The statement was rolled back.
 */
function isOverCap(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SB402';
}

/** True for an error that leaves open whether the statement was executed. */
function isConnectionLoss(error: unknown): boolean {
  return error instanceof Refusal && error.kind === 'unavailable';
}
