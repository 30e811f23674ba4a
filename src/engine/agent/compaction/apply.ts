import type { ToolResult } from '../../../models/contract.js';
import type { Entry } from '../session.js';
import { guessTokens } from './size.js';

/** Shorter results stay, since the path that replaces them is as long. */
const WORTH_SAVING = 300;

/** Results of the messages `from`–`to` that are cut to `tokens` each, since they do not fit whole. */
export interface Cut {
  readonly from: number;
  readonly to: number;
  readonly tokens: number;
}

/** How a transcript is shown from here on; its rows do not change. */
export interface Shown {
  /** Messages before this seq are in the summary. */
  readonly from: number;
  /** Tool results of messages before this seq are replaced by the path to Read them. */
  readonly elide: number;
  readonly cuts: readonly Cut[];
}

/** The messages as the model gets them. Applying it twice changes nothing more. */
export function showEntries(entries: readonly Entry[], shown: Shown): Entry[] {
  return entries.flatMap((entry): Entry[] => {
    const seq = entry.seq ?? 0;
    if (entry.why === 'compacted' || seq < shown.from) return [];
    if (entry.role !== 'tool') return [entry];
    if (seq < shown.elide) return [withResults(entry, (result, path) => elideResult(result, path))];
    const cut = shown.cuts.find(({ from, to }) => seq >= from && seq <= to);
    return [cut ? withResults(entry, (result, path) => cutTo(result, path, cut.tokens)) : entry];
  });
}

/** The path by which Read shows a whole result, from its place in the transcript of the attempt. */
export function savedPath(seq: number, number: number): string {
  return `saved/result-${seq}-${number}.txt`;
}

export function parseSavedPath(path: string): { readonly seq: number; readonly number: number } | null {
  const match = /^saved\/result-(\d{1,9})-(\d{1,6})\.txt$/.exec(path);
  return match ? { seq: Number(match[1]), number: Number(match[2]) } : null;
}

type ToolEntry = Extract<Entry, { role: 'tool' }>;

function withResults(entry: ToolEntry, change: (result: ToolResult, path: string) => string): ToolEntry {
  const results = entry.results.map((result, index) => {
    const text = change(result, savedPath(entry.seq ?? 0, index + 1));
    return text === result.text ? result : { ...result, text };
  });
  return results.every((result, index) => result === entry.results[index]) ? entry : { ...entry, results };
}

/** A result that was cut before is long, even if little is left: the rows have all of it. */
function elideResult({ text }: ToolResult, path: string): string {
  return text.length <= WORTH_SAVING && !text.includes(path) ? text : `[saved: ${path}]`;
}

function cutTo({ text }: ToolResult, path: string, tokens: number): string {
  if (guessTokens(text) <= tokens || text.length <= WORTH_SAVING) return text;
  for (let half = text.length / 2; ; half = Math.floor(half * 0.7)) {
    const parts = half < 40 ? ['', ''] : [text.slice(0, half), text.slice(-half)];
    const shown = parts.join(`\n[… saved: ${path}; Read it in parts, with offset and limit …]\n`);
    if (half < 40) return `[saved: ${path}]`;
    if (guessTokens(shown) <= tokens) return shown;
  }
}
