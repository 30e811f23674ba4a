import type { OpenedLink } from '../../../runs/index.js';
import type { Json } from '../../../shared/json.js';
import { Refusal } from '../../../shared/refusal.js';
import { unknownKey } from '../../closest.js';
import { fieldsOf } from './form-fields.js';

/** What a form has posted: each name with its texts, in their order. */
export type Posted = ReadonlyMap<string, readonly unknown[]>;

const OWN_FIELDS = ['decision', 'note', 'reason', 'nonce', 'digest'];

/** As many faults as an answer names. */
const MAX_NAMED = 20;

/** A browser posts the line ends of a name in its own way. */
export function readPosted(fields: Readonly<Record<string, unknown>>): Posted {
  return new Map(
    Object.entries(fields).map(([name, value]) => [unixName(name), Array.isArray(value) ? value : [value]]),
  );
}

export const unixName = (name: string): string => name.replace(/\r\n?/g, '\n');

/**
 * Refuses a field that the page does not have, and one that comes twice: who misspelt it would have decided otherwise
 * than they wrote.
 */
export function assertKnownFields(posted: Posted, { edit = [], form }: OpenedLink): void {
  const known = [...OWN_FIELDS, ...edit.map(({ id }) => `edit.${id}`), ...namesOf(form)];
  const names = new Set(known.map(unixName));
  const strange = [...posted].filter(([name, values]) => !names.has(name) || values.length > 1);
  if (strange.length === 0) return;
  const issues = strange.slice(0, MAX_NAMED).map(([name]) => ({
    path: `body.${name}`,
    message: names.has(name) ? 'sent more than once: send it once' : unknownKey(name, known),
  }));
  const more = strange.length > 1 ? ` (and ${strange.length - 1} more)` : '';
  throw new Refusal('refused', `${issues[0]?.path}: ${issues[0]?.message}${more}`, { code: 'invalid', issues });
}

function namesOf(form: Json | undefined): readonly string[] {
  if (form === undefined) return [];
  return fieldsOf(form)?.map(({ name }) => `form.${name}`) ?? ['form'];
}
