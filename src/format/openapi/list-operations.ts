import { isRecord } from '../../shared/json.js';
import type { Part, References } from './references.js';

export const HTTP_METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'] as const;

/** An operation of a document, not read yet. */
export interface FoundOperation {
  /** Its `operationId`, else made of method and path. Unique within the document. */
  readonly id: string;
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly operation: Part & { readonly value: Readonly<Record<string, unknown>> };
  /** The path's item, which applies to all of its operations. */
  readonly item: Part & { readonly value: Readonly<Record<string, unknown>> };
}

/** Every operation of a document, in its order. */
export function listOperations(document: Readonly<Record<string, unknown>>, refs: References, at: string) {
  const found: FoundOperation[] = [];
  const taken = new Set<string>();
  for (const [path, entry] of Object.entries(isRecord(document.paths) ? document.paths : {})) {
    const item = path.startsWith('/') ? refs.follow({ value: entry, at }) : null;
    if (item === null || !isRecord(item.value)) continue;
    for (const method of HTTP_METHODS) {
      const operation = item.value[method];
      if (!isRecord(operation)) continue;
      const id = uniqueId(idOf(operation, method, path), taken);
      const place = { item: { value: item.value, at: item.at }, operation: { value: operation, at: item.at } };
      found.push({ id, method: method.toUpperCase(), path, ...place });
    }
  }
  return found;
}

function idOf({ operationId }: Readonly<Record<string, unknown>>, method: string, path: string): string {
  if (typeof operationId === 'string' && operationId.trim() !== '') return operationId.trim();
  const words = path.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, '');
  return words === '' ? method : `${method}_${words}`;
}

function uniqueId(id: string, taken: Set<string>): string {
  let free = id;
  for (let nth = 2; taken.has(free); nth += 1) free = `${id}_${nth}`;
  taken.add(free);
  return free;
}
