import { Refusal } from './refusal.js';

/** The page that a caller asks for. */
export interface PageInput {
  readonly limit: number;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
}

export interface PageOf<Row> {
  readonly page: readonly Row[];
  readonly next: string | null;
}

/**
 * The cursors of one list. A cursor holds the list's name and the place of a row, so that a text which `next` never
 * returned is refused. Each part of a place must match its pattern in `shape`.
 */
export interface Cursors {
  /** The place after which the page begins; null for the first page. */
  read(cursor: string | undefined): readonly string[] | null;
  /** Makes the page from `rows`, which have one row more than `limit` if there is a further page. */
  page<Row>(rows: readonly Row[], limit: number, placeOf: (row: Row) => readonly string[]): PageOf<Row>;
}

export function cursorsOf(list: string, shape: readonly RegExp[]): Cursors {
  return {
    read: (cursor) => (cursor === undefined ? null : readPlace(cursor, list, shape)),
    page: (rows, limit, placeOf) => {
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return { page, next: rows.length > limit && last !== undefined ? encode([list, ...placeOf(last)]) : null };
    },
  };
}

function readPlace(cursor: string, list: string, shape: readonly RegExp[]): readonly string[] {
  const parts = decode(cursor);
  const [name, ...place] = parts;
  // Accept only the exact encoding that `next` returns, so that a cursor has one encoding.
  const isOurs = name === list && place.length === shape.length && encode(parts) === cursor;
  if (isOurs && shape.every((pattern, index) => pattern.test(place[index] ?? ''))) return place;
  throw new Refusal('refused', 'query.cursor: send `next` of the page before, unchanged', {
    code: 'invalid',
    issues: [{ path: 'query.cursor', message: 'send `next` of the page before, unchanged' }],
  });
}

function encode(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function decode(cursor: string): readonly string[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parts) && parts.every((part) => typeof part === 'string') ? parts : [];
  } catch {
    return [];
  }
}

/** A text that Postgres can compare: no control character, and no half of a surrogate pair. */
export const KEY = /^[^\p{Cc}\p{Cs}]+$/u;
/** The ids of parks contain slashes and names of steps. */
const ID = /^[^\p{Cc}\p{Cs}]{1,500}$/u;
const MILLISECONDS = /^\d{1,15}$/;

/** A place in a list ordered by time, and by id within a millisecond. */
export interface TimePlace {
  readonly at: Date;
  readonly id: string;
}

/** The cursors of a list ordered by time. */
export function timeCursors(list: string) {
  const cursors = cursorsOf(list, [MILLISECONDS, ID]);
  return {
    read: (cursor: string | undefined): TimePlace | null => {
      const [at = '', id = ''] = cursors.read(cursor) ?? [];
      return id === '' ? null : { at: new Date(Number(at)), id };
    },
    page: <Row>(rows: readonly Row[], limit: number, placeOf: (row: Row) => TimePlace): PageOf<Row> =>
      cursors.page(rows, limit, (row) => {
        const { at, id } = placeOf(row);
        return [String(at.getTime()), id];
      }),
  };
}

/** The cursors of a list ordered by the numbers of its rows. */
export function numberCursors(list: string, digits: number) {
  const cursors = cursorsOf(list, [new RegExp(`^\\d{1,${digits}}$`)]);
  return {
    read: (cursor: string | undefined): string | null => cursors.read(cursor)?.[0] ?? null,
    /** The cursor of a page whose end is not set by a number of rows. */
    make: (last: number): string => encode([list, String(last)]),
    page: <Row>(rows: readonly Row[], limit: number, numberOf: (row: Row) => bigint | number): PageOf<Row> =>
      cursors.page(rows, limit, (row) => [String(numberOf(row))]),
  };
}

/** The cursors of a list ordered by one text of its rows, such as a name. */
export function keyCursors(list: string) {
  const cursors = cursorsOf(list, [KEY]);
  return {
    read: (cursor: string | undefined): string | null => cursors.read(cursor)?.[0] ?? null,
    page: <Row>(rows: readonly Row[], limit: number, keyOf: (row: Row) => string): PageOf<Row> =>
      cursors.page(rows, limit, (row) => [keyOf(row)]),
    /** A page of a list in memory, ordered by the UTF-16 units of its keys. */
    pageOfAll: <Row>(all: readonly Row[], { limit, cursor }: PageInput, keyOf: (row: Row) => string): PageOf<Row> => {
      const after = cursors.read(cursor)?.[0];
      const sorted = [...all].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      const rest = after === undefined ? sorted : sorted.filter((row) => keyOf(row) > after);
      return cursors.page(rest.slice(0, limit + 1), limit, (row) => [keyOf(row)]);
    },
  };
}
