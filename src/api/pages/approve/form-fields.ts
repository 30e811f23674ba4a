import { html } from 'hono/html';
import { toJson } from '../../../shared/exact-json.js';
import { isRecord, type Json, type JsonObject } from '../../../shared/json.js';
import type { Html } from '../page.js';

/** One field of a gate's form. */
export interface Field {
  readonly name: string;
  readonly kind: 'text' | 'long' | 'number' | 'yes' | 'choice' | 'json';
  readonly required: boolean;
  readonly schema: JsonObject;
}

/** The fields of a form's schema; null when it has no named fields and is entered as JSON. */
export function fieldsOf(form: Json | undefined): readonly Field[] | null {
  if (!isRecord(form) || !isRecord(form.properties)) return null;
  const required = Array.isArray(form.required) ? form.required : [];
  return Object.entries(form.properties).map(([name, property]) => {
    const schema = (isRecord(property) ? property : {}) as JsonObject;
    return { name, kind: kindOf(schema), required: required.includes(name), schema };
  });
}

/** Longer texts get a multi-line field. */
const LINE = 200;

const KINDS: Readonly<Record<string, Field['kind']>> = {
  string: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'yes',
};

function kindOf({ type, enum: values, maxLength }: JsonObject): Field['kind'] {
  if (Array.isArray(values)) return 'choice';
  const name = Array.isArray(type) ? type.find((one) => one !== 'null') : type;
  const kind = KINDS[String(name)] ?? 'json';
  return kind === 'text' && typeof maxLength === 'number' && maxLength > LINE ? 'long' : kind;
}

/** `given` returns the submitted value of a field by its name. */
export function formFields(form: Json, given: (name: string) => string | null): Html {
  const fields = fieldsOf(form);
  if (fields === null)
    return html`<label>Form, as JSON <textarea name="form" rows="6">${given('form') ?? '{}'}</textarea></label>`;
  return html`${fields.map((field) => labelled(field, given(`form.${field.name}`)))}`;
}

function labelled(field: Field, given: string | null): Html {
  const { name, schema, required, kind } = field;
  const title = typeof schema.title === 'string' ? schema.title : name;
  const about = typeof schema.description === 'string' ? schema.description : null;
  const value = given ?? textOf(schema.default);
  const words = html`${title}${required ? '' : html` <span class="quiet">(may be left out)</span>`}${about && html`<br><span class="quiet">${about}</span>`}`;
  if (kind === 'yes')
    return html`<label><input type="checkbox" name="form.${name}" value="true"${value === 'true' ? html` checked` : ''}>${words}</label>`;
  return html`<label>${words} ${INPUTS[kind](field, value)}</label>`;
}

const INPUTS = {
  text: ({ name, required }, value) =>
    html`<input type="text" name="form.${name}" value="${value}"${required ? html` required` : ''}>`,
  number: ({ name, required }, value) =>
    html`<input type="text" inputmode="decimal" name="form.${name}" value="${value}"${required ? html` required` : ''}>`,
  long: ({ name, required }, value) =>
    html`<textarea name="form.${name}"${required ? html` required` : ''}>${value}</textarea>`,
  json: ({ name }, value) => html`<textarea name="form.${name}" placeholder="JSON">${value}</textarea>`,
  choice: ({ name, required, schema }, value) => html`<select name="form.${name}"${required ? html` required` : ''}>
    <option value=""></option>
    ${choicesOf(schema)
      .filter((choice) => choice !== '')
      .map((choice) => html`<option value="${choice}"${choice === value ? html` selected` : ''}>${choice}</option>`)}
  </select>`,
} as const satisfies Record<Exclude<Field['kind'], 'yes'>, (field: Field, value: string) => Html>;

/** The options in the form: texts unchanged, other values as JSON, and null as the empty option. */
export function choicesOf({ enum: values }: JsonObject): readonly string[] {
  return Array.isArray(values) ? values.map((value) => (value === null ? '' : textOf(value))) : [];
}

export function textOf(value: Json | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : toJson(value);
}
