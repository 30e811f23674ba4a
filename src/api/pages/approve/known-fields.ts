import type { OpenedLink } from '../../../contract/approve.js';
import type { Json } from '../../../shared/json.js';
import { refusalOf, SENT_TWICE } from '../../faults.js';
import { unknownKey } from '../../unknown-key.js';
import { fieldsOf } from './form-fields.js';

/** A posted form: the values of each name, in order. */
export type Posted = ReadonlyMap<string, readonly unknown[]>;

const OWN_FIELDS = ['decision', 'note', 'reason', 'nonce', 'digest', 'round'];

/** The maximum number of faults in a response. */
const MAX_NAMED = 20;

export function readPosted(fields: Readonly<Record<string, unknown>>): Posted {
  return new Map(
    Object.entries(fields).map(([name, value]) => [unixLines(name), Array.isArray(value) ? value : [value]]),
  );
}

/** Browsers post CRLF line ends, in field names too. */
export const unixLines = (text: string): string => text.replace(/\r\n?/g, '\n');

/** Refuses unknown and repeated fields: a misspelt field would lead to another decision than the one intended. */
export function assertKnownFields(posted: Posted, { edit = [], form }: OpenedLink): void {
  const known = [...OWN_FIELDS, ...edit.map(({ id }) => `edit.${id}`), ...namesOf(form)];
  const names = new Set(known.map(unixLines));
  const unknown = [...posted].filter(([name, values]) => !names.has(name) || values.length > 1);
  if (unknown.length === 0) return;
  const faults = unknown.map(([name]) => () => ({
    path: `body.${name}`,
    message: names.has(name) ? SENT_TWICE : unknownKey(name, known),
  }));
  throw refusalOf(faults, MAX_NAMED);
}

function namesOf(form: Json | undefined): readonly string[] {
  if (form === undefined) return [];
  return fieldsOf(form)?.map(({ name }) => `form.${name}`) ?? ['form'];
}
