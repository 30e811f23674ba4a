import { isRecord, type JsonObject } from '../../shared/json.js';
import { atPointer } from '../../shared/json-pointer.js';

const MAX_DEPTH = 50;

/** True if a schema declares the field at this path, in any of its branches; `[]` is any item of a list. */
export function declares(schema: unknown, path: readonly string[]): boolean {
  return isRecord(schema) && declaresIn(schema as JsonObject, { path, root: schema as JsonObject, depth: 0 });
}

interface Place {
  readonly path: readonly string[];
  readonly root: JsonObject;
  readonly depth: number;
}

function declaresIn(schema: unknown, { path, root, depth }: Place): boolean {
  const [first, ...rest] = path;
  if (first === undefined) return true;
  if (!isRecord(schema) || depth > MAX_DEPTH) return false;
  const deeper = { root, depth: depth + 1 };
  const { properties, items } = schema;
  if (first === '[]') {
    if (items !== undefined && declaresIn(items, { ...deeper, path: rest })) return true;
  } else if (isRecord(properties) && Object.hasOwn(properties, first)) {
    return declaresIn(properties[first], { ...deeper, path: rest });
  }
  const branches = [schema.allOf, schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : []));
  const referred = typeof schema.$ref === 'string' && schema.$ref.startsWith('#') ? [atPointer(root, schema.$ref)] : [];
  return [...branches, ...referred].some((branch) => declaresIn(branch, { ...deeper, path }));
}
