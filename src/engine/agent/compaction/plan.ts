import type { Entry } from '../session.js';
import { type Cut, type Shown, showEntries } from './apply.js';
import { sizeOf } from './size.js';

/**
 * `FILL`: the share of the transcript's room that is full after a compaction. `LAST_TURNS`: the share that the last
 * turns may use uncut.
 */
const FILL = 0.6;
const LAST_TURNS = 0.3;
/** A compaction that frees less than this is not worth a call: it would be needed again at the next turn. */
const LEAST_GAIN = 0.1;
const MOST_SUMMARY_TOKENS = 2_000;

export interface PlanInput {
  readonly entries: readonly Entry[];
  /** How the transcript is shown now. */
  readonly shown: Shown;
  /** Estimated tokens: `fixed` is the part of every call besides the transcript, `limit` the usable context. */
  readonly fixed: number;
  readonly limit: number;
  /** Real tokens per estimated token. */
  readonly factor: number;
}

export interface CompactionPlan {
  readonly shown: Shown;
  /** What a new summary has to cover, the summary before it included; empty when the summary stays. */
  readonly old: readonly Entry[];
  readonly summaryTokens: number;
}

/**
 * Plans how to make room: replaces old tool results by their paths; if that is not enough, summarizes older turns; and
 * cuts the results of the newest turn if that alone is too long. A turn goes or stays with all its results. Null when
 * not enough can be gained.
 */
export function planCompaction(input: PlanInput): CompactionPlan | null {
  const { entries, shown, fixed, limit, factor } = input;
  const room = Math.max(limit - fixed * factor, limit * LEAST_GAIN) / factor;
  const summaryTokens = Math.floor(Math.min(MOST_SUMMARY_TOKENS, room * 0.2));
  const starts = entries.flatMap((entry, index) => (entry.role === 'assistant' ? [index] : []));
  const newest = starts.at(-1);
  if (newest === undefined) return null;
  const keep = lastTurns(entries, starts, room * LAST_TURNS);
  const cuts = cutNewest(entries.slice(newest), room);
  const elide = Math.max(shown.elide, seqOf(entries, keep));
  const light: Shown = { from: shown.from, elide, cuts: [...shown.cuts.filter(({ to }) => to >= elide), ...cuts] };
  const lead = entries[0]?.why === 'compacted' ? sizeOf(entries[0]) : 0;
  const lightSize = lead + sizeSum(showEntries(entries, light));
  const before = sizeSum(entries);
  const old = entries.slice(0, keep);
  const hasOldTurns = keep > (starts[0] ?? 0);
  if (lightSize <= room * FILL || !hasOldTurns)
    return gains(before, lightSize, room, { shown: light, old: [], summaryTokens });
  const deep: Shown = { ...light, from: seqOf(entries, keep) };
  const deepSize = summaryTokens + sizeSum(showEntries(entries, deep));
  return gains(before, deepSize, room, { shown: deep, old, summaryTokens });
}

function gains(before: number, after: number, room: number, plan: CompactionPlan): CompactionPlan | null {
  return before - after >= room * LEAST_GAIN ? plan : null;
}

/** The position of the first turn that stays whole: the newest always stays, earlier ones while they fit. */
function lastTurns(entries: readonly Entry[], starts: readonly number[], most: number): number {
  let keep = starts.at(-1) ?? 0;
  for (const start of starts.slice(0, -1).reverse()) {
    if (sizeSum(entries.slice(start)) > most) break;
    keep = start;
  }
  return keep;
}

/** No cuts while the newest turn fits; otherwise its results share the room that its calls leave. */
function cutNewest(turn: readonly Entry[], room: number): Cut[] {
  if (sizeSum(turn) <= room * FILL) return [];
  const results = turn.flatMap((entry) => (entry.role === 'tool' ? [entry] : []));
  const count = results.reduce((sum, entry) => sum + entry.results.length, 0);
  const [first] = results;
  const last = results.at(-1);
  if (count === 0 || !first || !last) return [];
  const others = sizeSum(turn.filter((entry) => entry.role !== 'tool'));
  // Subtract the overhead of a result: its frame, its id and its escapes.
  const tokens = Math.floor(Math.max(0, room * FILL * 0.6 - others) / count - 60);
  return [{ from: first.seq ?? 0, to: last.seq ?? 0, tokens: Math.max(0, tokens) }];
}

function seqOf(entries: readonly Entry[], index: number): number {
  return entries[index]?.seq ?? 0;
}

function sizeSum(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
}
