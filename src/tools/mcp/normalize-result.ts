import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isRecord } from '../../shared/json.js';
import { readBlock } from './read-result.js';

/**
 * Brings the result of a call into the form that the client library accepts, in place, before the library reads it. The
 * library rejects a whole result for one block of a type that it does not know; the blocks beside it are still useful.
 */
export function normalizeResult(message: JSONRPCMessage): void {
  const { result } = message as { readonly result?: unknown };
  if (!isRecord(result) || !Array.isArray(result.content)) return;
  const loose = result as Record<string, unknown>;
  loose.content = result.content.map(acceptedBlock);
  const { structuredContent } = result;
  if (structuredContent === null) delete loose.structuredContent;
  else if (structuredContent !== undefined && !isRecord(structuredContent)) {
    loose.structuredContent = { result: structuredContent };
  }
  if (loose.isError !== undefined) loose.isError = loose.isError === true;
}

type Block = Readonly<Record<string, unknown>>;

/** The fields of each type that are read later. What only a user interface needs (annotations, icons) could cost the block. */
const FIELDS: Readonly<Record<string, (block: Block) => object>> = {
  text: ({ text }) => ({ text }),
  image: mediaFields,
  audio: mediaFields,
  resource: ({ resource }) => ({ resource: isRecord(resource) ? resourceFields(resource) : {} }),
  resource_link: ({ uri, name, description }) => ({
    uri: String(uri),
    name: typeof name === 'string' ? name : '',
    ...(typeof description === 'string' && { description }),
  }),
};

function acceptedBlock(block: unknown): object {
  const { part, isKnown } = readBlock(block);
  const fields = isRecord(block) && isKnown ? FIELDS[String(block.type)] : undefined;
  if (isRecord(block) && fields) return { type: block.type, ...fields(block) };
  return { type: 'text', text: part.kind === 'text' ? part.text : '' };
}

function mediaFields({ data, mimeType }: Block): object {
  return { data, mimeType: typeof mimeType === 'string' ? mimeType : '' };
}

function resourceFields({ uri, text, blob, mimeType }: Block): object {
  const content = typeof text === 'string' ? { text } : { blob };
  return { uri: String(uri), ...content, ...(typeof mimeType === 'string' && { mimeType }) };
}
