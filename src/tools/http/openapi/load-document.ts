import { createHash } from 'node:crypto';
import { readRunFile } from '../../../content/index.js';
import { listOperations } from '../../../format/openapi/list-operations.js';
import { asOpenapi, type DocumentRead, readJsonTree } from '../../../format/openapi/read-document.js';
import { readOperation, serversOf } from '../../../format/openapi/read-operation.js';
import { References } from '../../../format/openapi/references.js';
import { unreadAddresses } from '../../../format/openapi/unread-addresses.js';
import { untilAborted } from '../../../shared/deadline.js';
import { Lru } from '../../../shared/lru.js';
import { Refusal } from '../../../shared/refusal.js';
import type { ToolContext } from '../../contract.js';
import { decodeText } from '../../text-file.js';
import type { HttpDeps } from '../request.js';
import { type TypedOperation, typedOperation } from './operation-tool.js';

const FRESH_MS = 5 * 60_000;

/** How long a document is used while its URL does not answer. */
const STALE_MS = 24 * 3_600_000;

const MAX_BYTES = 24 * 1_048_576;

const MAX_KEPT = 96 * 1_048_576;

const TIMEOUT_MS = 60_000;

/** The documents that this process has fetched, least recently used first. They are fetched without credentials. */
const kept = new Map<string, Kept>();

const underWay = new Map<string, Promise<{ readonly text: string } | string>>();

/** A document that was read, with what it refers to. */
export interface LoadedDocument {
  readonly address: string;
  readonly operations: readonly TypedOperation[];
  readonly servers: readonly string[];
}

const MAX_DOCUMENTS = 50;

const MAX_LOADED = 20;

/** The number of operations to read before yielding to the event loop. */
const AT_ONCE = 10;

/** Loaded documents by URL and text. */
const loaded = new Lru<string, Promise<LoadedDocument>>(MAX_LOADED);

/** Reads the document of a tool, by its URL or its path in the tree; returns a sentence when that fails. */
export async function loadDocument(
  deps: HttpDeps,
  context: ToolContext,
  name: string,
): Promise<LoadedDocument | string> {
  const root = await readText(deps, context, name);
  if (typeof root === 'string') return root;
  const read = asOpenapi(await parse(deps, root.text));
  if (!read.ok) return `the document ${shown(name)} ${read.message}`;
  const texts = new Map<string, string>([[name, root.text]]);
  const documents = new Map<string, unknown>([[name, read.document]]);
  await readReferred(deps, context, { texts, documents });
  const key = createHash('sha256')
    .update(JSON.stringify([...texts]))
    .digest('base64url');
  const known = loaded.get(key) ?? loaded.set(key, readOperations(name, read.document, documents));
  return known;
}

interface Reading {
  readonly texts: Map<string, string>;
  readonly documents: Map<string, unknown>;
}

/**
 * Reads all documents that the first one refers to, directly or not, nearest first. An unreadable one leaves open what
 * it describes.
 */
async function readReferred(deps: HttpDeps, context: ToolContext, { texts, documents }: Reading): Promise<void> {
  // A fetched document must not refer to files of the tree.
  const mayRead = (address: string, from: string) =>
    documents.size <= MAX_DOCUMENTS && (URL.canParse(address) || !URL.canParse(from));
  for (const address of unreadAddresses(documents, mayRead)) {
    const found = await readText(deps, context, address);
    const read = typeof found === 'string' ? null : await parse(deps, found.text);
    documents.set(address, read?.ok ? read.document : undefined);
    if (typeof found !== 'string') texts.set(address, found.text);
  }
}

/** YAML is read off the event loop: a large document takes a second. */
async function parse({ checker }: HttpDeps, text: string): Promise<DocumentRead> {
  const json = readJsonTree(text);
  if (json !== null) return json;
  try {
    return await checker.work('read-tree', { text });
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'refused') {
      return { ok: false, message: 'takes too long to read: give it as JSON, or in smaller files' };
    }
    throw error;
  }
}

async function readText(
  deps: HttpDeps,
  context: ToolContext,
  name: string,
): Promise<{ readonly text: string } | string> {
  if (/^https?:/.test(name)) return fetchText(deps, name, context.signal);
  const file = await readRunFile(deps, context.run, name);
  const text = file && decodeText(file.content);
  return text === null ? `the document ${name} does not exist or is not text` : { text };
}

async function readOperations(
  address: string,
  document: Readonly<Record<string, unknown>>,
  documents: ReadonlyMap<string, unknown>,
): Promise<LoadedDocument> {
  const refs = new References(documents);
  const servers = serversOf(document.servers);
  const operations: TypedOperation[] = [];
  for (const found of listOperations(document, refs, address)) {
    if (operations.length % AT_ONCE === 0) await new Promise(setImmediate);
    operations.push(typedOperation(readOperation(found, refs, { servers, at: address })));
  }
  return { address, operations, servers };
}

/** A URL's host only, since its other parts may hold a credential. */
function shown(name: string): string {
  return URL.canParse(name) ? new URL(name).host : name;
}

interface Kept {
  readonly text: string;
  readonly etag: string | null;
  readonly at: number;
}

/** A document by its URL, fetched once in five minutes for all steps; a sentence when it cannot be fetched. */
async function fetchText(
  deps: Pick<HttpDeps, 'net'>,
  address: string,
  signal: AbortSignal,
): Promise<{ readonly text: string } | string> {
  const known = kept.get(address);
  if (known && Date.now() - known.at < FRESH_MS) {
    cacheText(address, known);
    return known;
  }
  const fetching = underWay.get(address) ?? fetchDocument(deps, address, known);
  underWay.set(address, fetching);
  const done = fetching.finally(() => {
    if (underWay.get(address) === fetching) underWay.delete(address);
  });
  // A caller that aborts does not cancel the fetch for the others that wait for it.
  return untilAborted(done, signal);
}

async function fetchDocument(
  { net }: Pick<HttpDeps, 'net'>,
  address: string,
  known: Kept | undefined,
): Promise<{ readonly text: string } | string> {
  const answer = await net.request({
    url: address,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    headers: {
      accept: 'application/json, application/yaml;q=0.9, text/*;q=0.8, */*;q=0.5',
      ...(known?.etag && { 'if-none-match': known.etag }),
    },
  });
  const now = Date.now();
  if (answer.kind === 'answer' && answer.status === 304 && known) return cacheText(address, { ...known, at: now });
  const text = answer.kind === 'answer' && answer.status === 200 ? decodeText(answer.body) : null;
  if (answer.kind === 'answer' && text !== null) {
    return cacheText(address, { text, etag: answer.headers.get('etag'), at: now });
  }
  if (known && now - known.at < STALE_MS) return known;
  const { host } = URL.canParse(address) ? new URL(address) : { host: 'its address' };
  if (answer.kind === 'fault') return `the document cannot be fetched: ${answer.message}`;
  return `the document cannot be fetched: ${host} answers ${answer.status === 200 ? 'without text' : answer.status}`;
}

function cacheText(address: string, one: Kept): Kept {
  kept.delete(address);
  kept.set(address, one);
  let total = [...kept.values()].reduce((sum, { text }) => sum + text.length, 0);
  for (const [oldest, { text }] of kept) {
    if (total <= MAX_KEPT || oldest === address) break;
    kept.delete(oldest);
    total -= text.length;
  }
  return one;
}
