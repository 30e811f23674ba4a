import { isRecord } from '../../shared/json.js';
import { listOperations } from '../openapi/list-operations.js';
import { asOpenapi, type DocumentRead, readTree } from '../openapi/read-document.js';
import { serversOf } from '../openapi/read-operation.js';
import { addressOf, References, refOf } from '../openapi/references.js';
import { unreadAddresses } from '../openapi/unread-addresses.js';
import { type Catalog, type Found, nearestIn } from '../resolve/catalog.js';
import { resolveBeside } from '../resolve/tool-files.js';

/** The content of the document beside a tool. */
export type ToolDocument =
  | {
      readonly kind: 'read';
      readonly operations: ReadonlyMap<string, string>;
      /** True when some of its paths are at a URL, so that not all operations are known before a run. */
      readonly isOpen: boolean;
      readonly hasServer: boolean;
    }
  | { readonly kind: 'fault'; readonly message: string };

const known = new WeakMap<Catalog, Map<string, ToolDocument>>();
const trees = new WeakMap<Uint8Array, DocumentRead>();

/** The document beside a tool: its operations, each with its method. Null when it has none, or names a URL. */
export function toolDocument(catalog: Catalog, tool: Found<'tool'>): ToolDocument | null {
  const name = tool.model.keys.values.openapi?.name;
  if (name === undefined || /^https?:\/\//.test(name)) return null;
  const path = resolveBeside(tool.source.path, name);
  if (path === undefined || !catalog.files.has(path)) return null;
  const documents = known.get(catalog) ?? new Map<string, ToolDocument>();
  known.set(catalog, documents);
  const read = documents.get(path) ?? readDocument(catalog, path);
  documents.set(path, read);
  return read;
}

function readDocument(catalog: Catalog, path: string): ToolDocument {
  const read = asOpenapi(treeOf(catalog, path));
  if (!read.ok) return { kind: 'fault', message: read.message };
  const refs = new References(withReferred(catalog, path, read.document));
  const paths = isRecord(read.document.paths) ? read.document.paths : {};
  const outside = Object.entries(paths).filter(([, item]) => refs.follow({ value: item, at: path }) === null);
  const missing = outside.find(([, item]) => !URL.canParse(addressOf(refOf(item) ?? '', path)));
  if (missing) {
    const [at, item] = missing;
    return { kind: 'fault', message: `has \`${at}\`, which refers to \`${refOf(item)}\`: there is nothing there` };
  }
  const found = listOperations(read.document, refs, path);
  const hasServer = serversOf(read.document.servers).some((server) => URL.canParse(server));
  const operations = new Map(found.map(({ id, method }) => [id, method]));
  return { kind: 'read', operations, isOpen: outside.length > 0, hasServer };
}

/** The document with all files that it refers to, directly or through other files. */
function withReferred(catalog: Catalog, path: string, root: unknown): ReadonlyMap<string, unknown> {
  const documents = new Map<string, unknown>([[path, root]]);
  for (const address of unreadAddresses(documents, (file) => catalog.files.has(file))) {
    const read = treeOf(catalog, address);
    documents.set(address, read.ok ? read.document : undefined);
  }
  return documents;
}

function treeOf(catalog: Catalog, path: string): DocumentRead {
  const content = catalog.files.get(path)?.content ?? new Uint8Array();
  const read = trees.get(content) ?? readTree(new TextDecoder().decode(content));
  trees.set(content, read);
  return read;
}

/** Why `tool.operation` does not exist, as the end of a sentence; null when it exists or that is unknown. */
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
  if (named === undefined && document.isOpen) return null;
  if (named === undefined) return { message: `its document has no operation \`${operation}\``, names };
  if (isAllowed(methods, named[1])) return null;
  return { message: `\`${operation}\` is a ${named[1]}, which its \`methods:\` do not allow`, names };
}

function isAllowed(methods: readonly string[], method: string): boolean {
  return methods.includes(method);
}

/** The operation's name as the model sees it. */
function fold(id: string): string {
  return id.replace(/[^\w-]+/g, '_');
}
