import { isRecord } from '../../shared/json.js';
import { comesFrom, originOf } from './origins.js';
import type { Part, References } from './references.js';

type Schema = Readonly<Record<string, unknown>>;

/** Maximum number of parts that one schema may merge. Parts that refer to the same parts would double at each level. */
const MAX_PARTS = 200;

/**
 * Merges the objects of an `allOf` into one object, which models read better. Choices and other types stay in `allOf`.
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

/**
 * For equal keywords the first wins. Properties and required names are combined. `additionalProperties` is dropped,
 * since one part must not close the whole.
 */
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
