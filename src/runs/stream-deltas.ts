import { isRecord } from '../shared/json.js';
import type { EventRow } from './trace.js';

/** Deltas buffered for a slow client, about a megabyte; beyond that the stream resets. */
const MOST_DELTAS = 1_000;

/** One round of a step, or of one of its items. */
export interface StepRound {
  readonly step: string;
  readonly item: number;
  readonly round: number;
}

export interface Delta extends StepRound {
  readonly kind: 'delta' | 'output' | 'reset';
  readonly text: string;
}

type Ordered<Row> = { readonly row: Row } | { readonly delta: Delta };

/**
 * Adds a delta. When the buffer is full, replaces its content by a reset for each step: deltas are not stored, and the
 * step's result has the whole text.
 */
export function keepDelta(deltas: Delta[], delta: Delta): void {
  if (deltas.length >= MOST_DELTAS) {
    const resets = [...deltas, delta].map((each) => ({ ...each, kind: 'reset' as const, text: '' }));
    const byStep = new Map(resets.map((reset) => [roundKey(reset), reset]));
    deltas.splice(0, deltas.length, ...byStep.values());
  }
  deltas.push(delta);
}

/**
 * Orders events and buffered deltas: the text of a step comes before the event that ends it. Text that arrives later is
 * dropped, unless the step has started again. Empties the buffer, which may grow meanwhile, and updates `ended`, the keys
 * of the rounds that have ended.
 */
export function* orderDeltas<Row extends Pick<EventRow, 'type' | 'data'>>(
  rows: readonly Row[],
  deltas: Delta[],
  ended: Set<string>,
): Generator<Ordered<Row>> {
  for (const row of rows) {
    const key = isRecord(row.data) ? roundKey(row.data) : '';
    if (endsStep(row)) {
      for (const delta of takeRound(deltas, key)) yield { delta };
      ended.add(key);
    } else if (row.type === 'step.started' || row.type === 'step.retrying') ended.delete(key);
    yield { row };
  }
  for (const delta of deltas.splice(0)) if (!ended.has(roundKey(delta))) yield { delta };
}

/** True for an event after which its step sends no text. */
export function endsStep({ type }: Pick<EventRow, 'type'>): boolean {
  return type === 'step.completed' || type === 'step.failed' || type === 'step.skipped';
}

/** Items and rounds count from 0 and 1, also where an event does not say them. */
export function roundKey({ step, item, round }: { readonly [Part in keyof StepRound]?: unknown }): string {
  return `${step} ${item ?? 0} ${round ?? 1}`;
}

/** Removes the deltas of one round from the buffer. */
function takeRound(deltas: Delta[], key: string): Delta[] {
  const taken = deltas.filter((delta) => roundKey(delta) === key);
  const left = deltas.filter((delta) => roundKey(delta) !== key);
  if (taken.length > 0) deltas.splice(0, deltas.length, ...left);
  return taken;
}
