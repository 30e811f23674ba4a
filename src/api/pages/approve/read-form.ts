import type { OpenedLink } from '../../../contract/approve.js';
import type { SentVote } from '../../../runs/index.js';
import { parseJson } from '../../../shared/exact-json.js';
import { canonicalJson, isRecord, type Json } from '../../../shared/json.js';
import { Refusal } from '../../../shared/refusal.js';
import { refusalOf, SENT_TWICE } from '../../faults.js';
import { unknownKey } from '../../unknown-key.js';
import { choicesOf, type Field, fieldsOf } from './form-fields.js';

const OWN_FIELDS = ['decision', 'note', 'reason', 'nonce', 'digest', 'round'];

/** The maximum number of faults in a response. */
const MAX_NAMED = 20;

/** Browsers post CRLF line ends, in field names too. */
const unixLines = (text: string): string => text.replace(/\r\n?/g, '\n');

/** The longest note that a run stores. */
const NOTE = 4_000;

/**
 * Reads a posted form by the gate's fields and refuses unknown ones. For a rejection the form and edits are ignored,
 * although the page posts them. For a decided gate nothing is refused here, since the answer is that it was decided.
 */
export function readApproveForm(fields: Readonly<Record<string, unknown>>, opened: OpenedLink): Partial<SentVote> {
  const posted = readPosted(fields);
  if (opened.decision === null) assertKnownFields(posted, opened);
  const text = (name: string): string | undefined => {
    const [value, ...more] = posted.get(unixLines(name)) ?? [];
    return typeof value === 'string' && more.length === 0 ? value : undefined;
  };
  const decision = text('decision');
  if (decision !== 'approve' && decision !== 'reject') return {};
  const [note, reason] = [readNote('note', text), readNote('reason', text)];
  const round = readRound(text('round'));
  const nonce = text('nonce');
  const digest = text('digest');
  const vote = {
    decision: decision as 'approve' | 'reject',
    ...(note ? { note } : {}),
    ...(reason ? { reason } : {}),
    ...(round === undefined ? {} : { round }),
    ...(digest === undefined ? {} : { digest }),
    ...(nonce === undefined ? {} : { nonce }),
  };
  if (decision === 'reject') return vote;
  const form = opened.form === undefined ? undefined : readFields(opened.form, text);
  const edits = readEdits(opened, text);
  return { ...vote, ...(form === undefined ? {} : { form }), ...(edits === undefined ? {} : { edits }) };
}

function readNote(name: string, text: (name: string) => string | undefined): string {
  const note = unixLines(text(name) ?? '').trim();
  if (note.length <= NOTE) return note;
  throw new Refusal('refused', `${name}: longer than ${NOTE} characters`);
}

function readRound(given: string | undefined): number | undefined {
  if (given === undefined || given === '') return undefined;
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
  throw new Refusal('refused', 'round: send gate.round as it was read, a whole number from 1');
}

function readFields(form: Json, text: (name: string) => string | undefined): Json | undefined {
  const fields = fieldsOf(form);
  if (fields === null) {
    const given = text('form');
    return given === undefined || given.trim() === '' ? undefined : parsed(given);
  }
  // Unticked boxes are not posted. Without any field a program has left out the form.
  const isPage = text('nonce') !== undefined;
  if (!isPage && fields.every(({ name }) => text(`form.${name}`) === undefined)) return undefined;
  const entries = fields.flatMap((field): [string, Json][] => {
    const value = readField(field, text(`form.${field.name}`));
    return value === undefined ? [] : [[field.name, value]];
  });
  return Object.fromEntries(entries);
}

function readField({ kind, schema }: Field, given: string | undefined): Json | undefined {
  if (kind === 'yes') return given === 'true' || given === 'on';
  if (given === undefined || given === '') return undefined;
  if (kind === 'json') return parsed(given);
  if (kind === 'number') return given.trim() !== '' && Number.isFinite(Number(given)) ? Number(given) : given;
  if (kind !== 'choice') return unixLines(given);
  const at = choicesOf(schema).indexOf(given);
  return at >= 0 && Array.isArray(schema.enum) ? (schema.enum[at] as Json) : given;
}

/** The work that was changed on the page; unchanged values are not edits. */
function readEdits(
  { edit = [] }: OpenedLink,
  text: (name: string) => string | undefined,
): Readonly<Record<string, Json>> | undefined {
  const edits = edit.flatMap((step): [string, Json][] => {
    const sent = text(`edit.${step.id}`);
    if (sent === undefined) return [];
    const given = unixLines(sent);
    const isValue = step.data !== undefined;
    const before = isValue ? canonicalJson(step.data ?? null) : plain(step.result ?? '');
    const value = isValue ? parsed(given) : given;
    const after = isValue ? canonicalJson(value) : plain(given);
    return before === after ? [] : [[step.id, value]];
  });
  return edits.length === 0 ? undefined : Object.fromEntries(edits);
}

/** Normalizes line ends, and removes the line break that browsers add before the first line. */
const plain = (text: string): string => unixLines(text).replace(/^\n/, '');

/** The value of JSON, else the text itself, which the schema check then reports. */
function parsed(text: string): Json {
  try {
    const value: unknown = parseJson(text);
    return isRecord(value) || Array.isArray(value) || typeof value !== 'object' || value === null
      ? (value as Json)
      : text;
  } catch {
    return text;
  }
}

/** A posted form: the values of each name, in order. */
type Posted = ReadonlyMap<string, readonly unknown[]>;

function readPosted(fields: Readonly<Record<string, unknown>>): Posted {
  return new Map(
    Object.entries(fields).map(([name, value]) => [unixLines(name), Array.isArray(value) ? value : [value]]),
  );
}

/** Refuses unknown and repeated fields: a misspelt field would lead to another decision than the one intended. */
function assertKnownFields(posted: Posted, { edit = [], form }: OpenedLink): void {
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
