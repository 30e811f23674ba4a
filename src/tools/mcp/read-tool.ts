import { isRecord, type JsonObject } from '../../shared/json.js';
import type { ServerTool } from './contract.js';

/** What a server may say of one of its tools, in characters; a schema that is longer is not shown. */
const MAX_DESCRIPTION = 4_000;
const MAX_SCHEMA = 50_000;
const MAX_NAME = 256;

/** A tool of a server's list, bounded, since it is text of others; null for what is none. */
export function readServerTool(value: unknown): ServerTool | null {
  if (!isRecord(value) || typeof value.name !== 'string') return null;
  const { name, description, annotations } = value;
  if (name === '' || name.length > MAX_NAME) return null;
  return {
    name,
    description: describe(typeof description === 'string' ? description : '', value.title),
    parameters: schemaOf(value.inputSchema),
    readOnly: isRecord(annotations) && annotations.readOnlyHint === true,
  };
}

function describe(description: string, title: unknown): string {
  const said = description.trim() === '' && typeof title === 'string' ? title : description;
  const clean = said.replaceAll('\0', '').trim();
  return clean.length <= MAX_DESCRIPTION ? clean : `${clean.slice(0, MAX_DESCRIPTION)} […]`;
}

/** An invalid or too long schema is replaced by one that accepts any arguments: the server validates them. */
function schemaOf(schema: unknown): JsonObject {
  const isUsable = isRecord(schema) && schema.type === 'object' && JSON.stringify(schema).length <= MAX_SCHEMA;
  return isUsable ? (schema as JsonObject) : { type: 'object' };
}
