import { isRecord } from '../../shared/json.js';

const KEYWORDS = new Set(
  `$schema $id $ref $defs $comment $anchor $dynamicRef $dynamicAnchor $vocabulary title description default examples
  deprecated readOnly writeOnly type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength
  minLength pattern format items prefixItems maxItems minItems uniqueItems contains maxContains minContains properties
  patternProperties additionalProperties propertyNames unevaluatedItems unevaluatedProperties maxProperties
  minProperties required dependentRequired dependentSchemas allOf anyOf oneOf not if then else contentEncoding
  contentMediaType contentSchema definitions`.split(/\s+/),
);
const LISTS = ['allOf', 'anyOf', 'oneOf'];

/** Keywords whose value maps names to schemas, and those whose value is not a schema. */
export const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
export const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired', 'type']);

/**
 * True if a schema is JSON Schema and not Picoschema. Picoschema fields may be called `type` or `items`, so a keyword
 * counts only with a value that JSON Schema allows. In a `json` block, a lone scalar type is JSON Schema too.
 */
export function isJsonSchema(value: unknown, language: 'yaml' | 'json'): boolean {
  if (typeof value === 'boolean') return true;
  if (!isRecord(value)) return false;
  if (typeof value.$schema === 'string') return true;
  if (!Object.keys(value).every((key) => KEYWORDS.has(key))) return isTyped(value);
  if (typeof value.$ref === 'string' && value.$ref.includes('#')) return true;
  if (LISTS.some((key) => Array.isArray(value[key]))) return true;
  return isTyped(value) || (language === 'json' && typeof value.type === 'string' && /^[a-z]+$/.test(value.type));
}

/** Picoschema has no types of these names, so they can only be JSON Schema. */
function isTyped({ type }: Readonly<Record<string, unknown>>): boolean {
  return (
    type === 'object' || type === 'array' || (Array.isArray(type) && type.every((entry) => typeof entry === 'string'))
  );
}
