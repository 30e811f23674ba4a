import type { OpenedLink } from '../../../runs/index.js';
import type { Json } from '../../../shared/json.js';
import { unknownKey } from '../../closest.js';
import { refusalOf, SENT_TWICE } from '../../faults.js';
import { fieldsOf } from './form-fields.js';

/** What a form has posted: each name with its texts, in their order. */
export type Posted = ReadonlyMap<string, readonly unknown[]>;

const OWN_FIELDS = ['decision', 'note', 'reason', 'nonce', 'digest', 'round'];

/** As many faults as an answer names. */
const MAX_NAMED = 20;

export function readPosted(fields: Readonly<Record<string, unknown>>): Posted {
  return new Map(
    Object.entries(fields).map(([name, value]) => [unixLines(name), Array.isArray(value) ? value : [value]]),
  );
}

/** A browser posts line ends in its own way, those of a field's name too. */
export const unixLines = (text: string): string => text.replace(/\r\n?/g, '\n');

/**
 * Refuses a field that the page does not have, and one that comes twice: who misspelt it would have decided otherwise
 * than they wrote.
 */
export function assertKnownFields(posted: Posted, { edit = [], form }: OpenedLink): void {
  const known = [...OWN_FIELDS, ...edit.map(({ id }) => `edit.${id}`), ...namesOf(form)];
  const names = new Set(known.map(unixLines));
  const strange = [...posted].filter(([name, values]) => !names.has(name) || values.length > 1);
  if (strange.length === 0) return;
  const faults = strange.map(([name]) => () => ({
    path: `body.${name}`,
    message: names.has(name) ? SENT_TWICE : unknownKey(name, known),
  }));
  throw refusalOf(faults, MAX_NAMED);
}

function namesOf(form: Json | undefined): readonly string[] {
  if (form === undefined) return [];
  return fieldsOf(form)?.map(({ name }) => `form.${name}`) ?? ['form'];
}
