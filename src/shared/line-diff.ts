import { diffLines } from 'diff';

export interface DiffLine {
  readonly op: ' ' | '+' | '-';
  /** Without its line end. */
  readonly text: string;
}

/** Beyond this many edits two texts have little in common, and looking for it costs too much. */
const MAX_EDITS = 1_000;

/** The lines of two texts, as what stayed, went and came. Texts that differ too much are shown as one gone and one come. */
export function diffText(before: string, after: string): DiffLine[] {
  if (before === '' || after === '') return [...lines('-', before), ...lines('+', after)];
  const parts = diffLines(before, after, { maxEditLength: MAX_EDITS });
  if (!parts) return [...lines('-', before), ...lines('+', after)];
  return parts.flatMap(({ added, removed, value }) => lines(added ? '+' : removed ? '-' : ' ', value));
}

function lines(op: DiffLine['op'], text: string): DiffLine[] {
  if (text === '') return [];
  const all = text.split('\n');
  if (all.at(-1) === '') all.pop();
  return all.map((line) => ({ op, text: line }));
}
