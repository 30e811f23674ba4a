import { isRecord } from '../../shared/json.js';
import { comesFrom, originOf } from './origins.js';
import type { Part, References } from './references.js';

type Schema = Readonly<Record<string, unknown>>;

/** Parts that one schema may bring together; two that refer to the same ones double them with every level. */
const MAX_PARTS = 200;

/**
 * Puts the parts of an `allOf` of objects together into one object, which models read better. Parts that are choices,
 * or no objects, stay in `allOf`.
 */
export function mergeAllOf(schema: Schema, at: string, refs: References, left = { parts: MAX_PARTS }): Schema {
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...own } = schema;
  let merged: Schema = own;
  const rest: unknown[] = [];
  for (const part of allOf as unknown[]) {
    left.parts -= 1;
    if (left.parts < 0) break;
    const reached = refs.follow({ value: part, at: originOf(part, at) });
    if (reached === null || !isRecord(reached.value)) continue;
    const inner = mergeAllOf(reached.value, reached.at, refs, left);
    if (isMergeable(inner)) merged = join({ value: merged, at }, { value: inner, at: reached.at });
    else rest.push(part);
    comesFrom(part, at);
  }
  return rest.length === 0 ? merged : { ...merged, allOf: rest };
}

function isMergeable({ oneOf, anyOf, allOf, not, type }: Schema): boolean {
  return (
    [oneOf, anyOf, allOf, not].every((choice) => choice === undefined) && (type === undefined || type === 'object')
  );
}

/** The first to say a thing has said it; properties and what is required add up, and nothing closes the whole. */
function join(ours: Part & { readonly value: Schema }, theirs: Part & { readonly value: Schema }): Schema {
  const properties = [theirs, ours].flatMap(({ value, at }) => {
    const own = Object.entries(isRecord(value.properties) ? value.properties : {});
    for (const [, property] of own) comesFrom(property, at);
    return own;
  });
  const required = [ours, theirs].flatMap(({ value }) => (Array.isArray(value.required) ? value.required : []));
  const { additionalProperties: _closed, ...rest } = { ...theirs.value, ...ours.value };
  return {
    ...rest,
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}
