import { Refusal } from '../shared/refusal.js';

/** The cursor of lists that are numbered: the number of the last row that was seen. */
export function readSeqCursor(cursor: string | undefined): number | null {
  if (cursor === undefined) return null;
  if (!/^\d{1,9}$/.test(cursor)) throw new Refusal('refused', 'cursor: take it as `next` gave it');
  return Number(cursor);
}
