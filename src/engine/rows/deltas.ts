import type { Db } from '../../platform/db/contract.js';
import { within } from '../../shared/deadline.js';

const BATCH_MS = 100;
/** A database that is this slow does not hold up the run any longer. */
const LONGEST_WAIT_MS = 5_000;
/** NOTIFY carries less than 8,000 bytes; a JSON-escaped character of text can take six. */
const PIECE_CHARACTERS = 1_200;

export const DELTA_CHANNEL = 'run_delta';

export interface DeltaKey {
  readonly runId: string;
  readonly step: string;
  readonly item: number;
  readonly round: number;
  /** The turn and call of a tool's output. */
  readonly turn?: number;
  readonly call?: number;
}

/** Text of a model's answer, or a program's output. */
export type DeltaKind = 'delta' | 'output';

export interface DeltaSink {
  push(text: string): void;
  /** Withdraws the text sent so far. Resolves once that is sent; later text comes after it. */
  reset(): Promise<void>;
  /** The answer failed: a reset, unless nothing of it was sent. */
  drop(): Promise<void>;
  /** Sends the rest. Resolves once all is sent, so that what is recorded afterwards comes after it. */
  end(): Promise<void>;
}

/**
 * Streams text of a model or a program to watchers, in batches. It is never stored and may be lost. An answer that is
 * complete before its first batch is only sent as its event.
 */
export function deltaSink(db: Db, key: DeltaKey, kind: DeltaKind = 'delta'): DeltaSink {
  let held = '';
  let timer: NodeJS.Timeout | null = null;
  let isLong = false;
  // One after the other: two connections of the pool would not keep the order.
  let emitted: Promise<void> = Promise.resolve();
  const emit = (what: DeltaKind | 'reset', text: string): void => {
    const payload = JSON.stringify({ ...key, kind: what, text });
    emitted = emitted.then(() => db.notify(DELTA_CHANNEL, payload)).catch(() => undefined);
  };
  const send = (): void => {
    timer = null;
    isLong = true;
    const text = held;
    held = '';
    for (let at = 0; at < text.length; at += PIECE_CHARACTERS) emit(kind, text.slice(at, at + PIECE_CHARACTERS));
  };
  const reset = (): Promise<void> => {
    if (timer) clearTimeout(timer);
    timer = null;
    held = '';
    emit('reset', '');
    return emitted;
  };
  return {
    push: (text) => {
      held += text;
      timer ??= setTimeout(send, BATCH_MS);
    },
    reset,
    drop: async () => {
      if (isLong) await reset();
      held = '';
    },
    end: async () => {
      if (timer) clearTimeout(timer);
      if (isLong) send();
      await within(emitted, LONGEST_WAIT_MS, () => undefined);
    },
  };
}
