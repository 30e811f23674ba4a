import { type ChangeObject, diffLines } from 'diff';

export interface DiffLine {
  readonly op: ' ' | '+' | '-';
  /** Without its line end. */
  readonly text: string;
}

/** Beyond this many edits two texts have little in common, and looking for it costs too much. */
const MAX_EDITS = 1_000;
/** This many edits take a few milliseconds for any two texts. */
const FEW_EDITS = 64;
/** The maximum of edits times lines. */
const MAX_COMPARED = 50_000_000;

/**
 * The unchanged, removed and added lines between two texts. Texts that differ too much are shown as one removed and one
 * added. Larger comparisons run in many short turns, so that the event loop is not blocked.
 */
export async function diffText(before: string, after: string): Promise<DiffLine[]> {
  if (before === '' || after === '') return [...lines('-', before), ...lines('+', after)];
  const parts = diffLines(before, after, { maxEditLength: FEW_EDITS }) ?? (await diffMany(before, after));
  if (!parts) return [...lines('-', before), ...lines('+', after)];
  return parts.flatMap(({ added, removed, value }) => lines(added ? '+' : removed ? '-' : ' ', value));
}

function diffMany(before: string, after: string): Promise<ChangeObject<string>[] | undefined> {
  const count = countLines(before) + countLines(after);
  const maxEditLength = Math.min(MAX_EDITS, Math.floor(MAX_COMPARED / count));
  return new Promise((resolve) => {
    diffLines(before, after, { maxEditLength, callback: (parts) => resolve(parts) });
  });
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function lines(op: DiffLine['op'], text: string): DiffLine[] {
  if (text === '') return [];
  const all = text.split('\n');
  if (all.at(-1) === '') all.pop();
  return all.map((line) => ({ op, text: line }));
}
