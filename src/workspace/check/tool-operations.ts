import { listOperations, References, readOpenapi, serversOf } from '../openapi/index.js';
import { type Catalog, type Found, nearestIn } from '../resolve/catalog.js';
import { resolveBeside } from '../resolve/tool-files.js';

/** What the document beside a tool says of it. */
export type ToolDocument =
  | { readonly kind: 'read'; readonly operations: ReadonlyMap<string, string>; readonly hasServer: boolean }
  | { readonly kind: 'fault'; readonly message: string };

const known = new WeakMap<Uint8Array, ToolDocument>();

/** The document beside a tool: its operations, each with its method. Null: it has none, or it is at an address. */
export function toolDocument(catalog: Catalog, tool: Found<'tool'>): ToolDocument | null {
  const name = tool.model.keys.values.openapi?.name;
  if (name === undefined || /^https?:\/\//.test(name)) return null;
  const path = resolveBeside(tool.source.path, name);
  const file = path === undefined ? undefined : catalog.files.get(path);
  if (file === undefined || path === undefined) return null;
  const read = known.get(file.content) ?? readDocument(file.content, path);
  known.set(file.content, read);
  return read;
}

function readDocument(content: Uint8Array, path: string): ToolDocument {
  const read = readOpenapi(new TextDecoder().decode(content));
  if (!read.ok) return { kind: 'fault', message: read.message };
  const refs = new References(new Map([[path, read.document]]));
  const found = listOperations(read.document, refs, path);
  const hasServer = serversOf(read.document.servers).some((server) => URL.canParse(server));
  return { kind: 'read', operations: new Map(found.map(({ id, method }) => [id, method])), hasServer };
}

/** Why `tool.operation` names nothing, as the end of a sentence; null when it does, or nobody can say. */
export function operationFault(
  catalog: Catalog,
  agent: string,
  word: string,
): { readonly message: string; readonly names: readonly string[] } | null {
  const dot = word.indexOf('.');
  const tool = dot < 0 ? undefined : nearestIn(catalog.tools, agent, word.slice(0, dot));
  if (tool === undefined) return null;
  const operation = word.slice(dot + 1);
  if (tool.model.transport === 'script') return { message: 'it is a script, which is one thing alone', names: [] };
  if (tool.model.transport !== 'http') return null;
  const { openapi, methods = ['GET', 'HEAD'] } = tool.model.keys.values;
  if (openapi === undefined) return { message: 'it has no `openapi:` that would give it operations', names: [] };
  const document = toolDocument(catalog, tool);
  if (document?.kind !== 'read') return null;
  const names = [...document.operations].filter(([, method]) => isAllowed(methods, method)).map(([id]) => id);
  const named = [...document.operations].find(([id]) => id === operation || fold(id) === operation);
  if (named === undefined) return { message: `its document has no operation \`${operation}\``, names };
  if (isAllowed(methods, named[1])) return null;
  return { message: `\`${operation}\` is a ${named[1]}, which its \`methods:\` do not allow`, names };
}

function isAllowed(methods: readonly string[], method: string): boolean {
  return methods.includes(method);
}

/** As the model sees it. */
function fold(id: string): string {
  return id.replace(/[^\w-]+/g, '_');
}
