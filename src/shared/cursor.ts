import { Refusal } from './refusal.js';

/** What a caller says of the page that it wants. */
export interface PageInput {
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

export interface PageOf<Row> {
  readonly page: readonly Row[];
  readonly next: string | null;
}

/**
 * The cursors of one list. A cursor holds the name of its list and the place of a row, so that a text which `next` never
 * gave is refused. Each part of a place must fit its pattern in `shape`.
 */
export interface Cursors {
  /** The place behind which the page begins; null for the first page. */
  read(cursor: string | undefined): readonly string[] | null;
  /** The page in `rows`, which hold one row more than `limit` where a further page exists. */
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
  // Only the spelling that `next` gives is a cursor, so a cursor has one spelling.
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
/** Ids of parks have slashes and names of steps in them. */
const ID = /^[^\p{Cc}\p{Cs}]{1,500}$/u;
const MILLISECONDS = /^\d{1,15}$/;

/** A place in the order of time, and of ids within a millisecond. */
export interface TimePlace {
  readonly at: Date;
  readonly id: string;
}

/** The cursors of a list in the order of time. */
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

/** The cursors of a list in the order of its rows' numbers. */
export function numberCursors(list: string, digits: number) {
  const cursors = cursorsOf(list, [new RegExp(`^\\d{1,${digits}}$`)]);
  return {
    read: (cursor: string | undefined): string | null => cursors.read(cursor)?.[0] ?? null,
    /** For a page whose end its rows say themselves. */
    make: (last: number): string => encode([list, String(last)]),
    page: <Row>(rows: readonly Row[], limit: number, numberOf: (row: Row) => bigint | number): PageOf<Row> =>
      cursors.page(rows, limit, (row) => [String(numberOf(row))]),
  };
}

/** The cursors of a list in the order of one text of its rows, such as a name. */
export function keyCursors(list: string) {
  const cursors = cursorsOf(list, [KEY]);
  return {
    read: (cursor: string | undefined): string | null => cursors.read(cursor)?.[0] ?? null,
    page: <Row>(rows: readonly Row[], limit: number, keyOf: (row: Row) => string): PageOf<Row> =>
      cursors.page(rows, limit, (row) => [keyOf(row)]),
    /** A page of a list that is wholly in memory, in the order of the code units of its keys. */
    pageOfAll: <Row>(all: readonly Row[], { limit, cursor }: PageInput, keyOf: (row: Row) => string): PageOf<Row> => {
      const after = cursors.read(cursor)?.[0];
      const sorted = [...all].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      const rest = after === undefined ? sorted : sorted.filter((row) => keyOf(row) > after);
      return cursors.page(rest.slice(0, limit + 1), limit, (row) => [keyOf(row)]);
    },
  };
}
