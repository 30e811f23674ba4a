import type { Entry } from '../session.js';
import { type Cut, type Shown, showEntries } from './apply.js';
import { sizeOf } from './size.js';

/** Of the room for the transcript: what is filled after a compaction, and what of it the last turns may take whole. */
const FILL = 0.6;
const LAST_TURNS = 0.3;
/** A compaction that frees less than this is not worth a call: the same would come again at the next turn. */
const LEAST_GAIN = 0.1;
const MOST_SUMMARY_TOKENS = 2_000;

export interface PlanInput {
  readonly entries: readonly Entry[];
  /** How it is shown now. */
  readonly shown: Shown;
  /** Tokens, by guess: what every call carries besides, and what of the context may be used. */
  readonly fixed: number;
  readonly limit: number;
  /** How many real tokens a guessed one is. */
  readonly factor: number;
}

export interface CompactionPlan {
  readonly shown: Shown;
  /** What a summary has to stand for from here on, the summary before it among them; empty when it stays as it is. */
  readonly old: readonly Entry[];
  readonly summaryTokens: number;
}

/**
 * How to make room: old tool results give way to their path; if that is not enough, older turns to a summary; and
 * where the newest turn alone is too long, its results are cut. A turn goes or stays with all its results. Null when
 * nothing worth it can be gained.
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

/** The position where the turns begin that stay whole: the newest always, earlier ones while they fit. */
function lastTurns(entries: readonly Entry[], starts: readonly number[], most: number): number {
  let keep = starts.at(-1) ?? 0;
  for (const start of starts.slice(0, -1).reverse()) {
    if (sizeSum(entries.slice(start)) > most) break;
    keep = start;
  }
  return keep;
}

/** Nothing while the newest turn fits; else its results share what its calls leave of the room. */
function cutNewest(turn: readonly Entry[], room: number): Cut[] {
  if (sizeSum(turn) <= room * FILL) return [];
  const results = turn.flatMap((entry) => (entry.role === 'tool' ? [entry] : []));
  const count = results.reduce((sum, entry) => sum + entry.results.length, 0);
  const [first] = results;
  const last = results.at(-1);
  if (count === 0 || !first || !last) return [];
  const others = sizeSum(turn.filter((entry) => entry.role !== 'tool'));
  // A result's frame, its id and its escapes take some of its share.
  const tokens = Math.floor(Math.max(0, room * FILL * 0.6 - others) / count - 60);
  return [{ from: first.seq ?? 0, to: last.seq ?? 0, tokens: Math.max(0, tokens) }];
}

function seqOf(entries: readonly Entry[], index: number): number {
  return entries[index]?.seq ?? 0;
}

function sizeSum(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
}
