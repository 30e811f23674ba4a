import { Refusal } from './refusal.js';

/** A place in a list that is in the order of time, and of ids within a millisecond. */
export interface TimePlace {
  readonly at: Date;
  readonly id: string;
}

/** The place that a page begins behind; null for the first page. */
export function readTimeCursor(cursor: string | undefined): TimePlace | null {
  if (cursor === undefined) return null;
  const match = /^(\d{1,15})\.(.{1,480})$/s.exec(cursor);
  if (!match) throw new Refusal('refused', 'cursor: take it as `next` gave it');
  return { at: new Date(Number(match[1])), id: match[2] ?? '' };
}

/** The page that is in `rows`, which are one more than `limit` where there is a further page, and the cursor of that one. */
export function timePage<Row>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => TimePlace,
): { readonly page: readonly Row[]; readonly next: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length <= limit || last === undefined) return { page, next: null };
  const { at, id } = placeOf(last);
  return { page, next: `${at.getTime()}.${id}` };
}
