import type { Client, JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { isRecord } from '../../shared/json.js';
import { ServerFault } from './contract.js';
import { readBlock } from './read-result.js';
import { sdk } from './sdk.js';

/**
 * The fields of each block type that are used. Others, for user interfaces (annotations, icons), are dropped, since an
 * invalid one would invalidate the block.
 */
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

/** How long a server may take until it is ready. */
const CONNECT_MS = 30_000;

/** One way to reach a server; it is used once. */
export interface Dial {
  readonly transport: Transport;
  /** The newer protocol discovers versions, the older sends `initialize`, which current servers answer. */
  readonly mode: 'legacy' | 'auto';
  /** What went wrong with it, as a sentence; null when that is not known. */
  readonly why: () => string | null;
  readonly close: () => Promise<void>;
}

export interface Connection {
  readonly client: Client;
  /** False once it has ended. */
  readonly isOpen: () => boolean;
  readonly why: () => string | null;
  /** Idempotent. */
  readonly close: () => Promise<void>;
}

interface Caller {
  readonly version: string;
  readonly signal: AbortSignal;
  readonly onListChanged: () => void;
}

/**
 * Connects in the first way that the server accepts. The next is tried only when the server itself refused the previous
 * one. Throws a ServerFault.
 */
export async function connect(dials: readonly (() => Dial)[], caller: Caller): Promise<Connection> {
  const [first, ...rest] = dials;
  if (first === undefined) throw new ServerFault('no transport can reach it');
  const dial = first();
  try {
    return await open(dial, caller);
  } catch (error) {
    const why = dial.why();
    await dial.close();
    if (rest.length > 0 && isRefusal(error) && !caller.signal.aborted) return await connect(rest, caller);
    throw error instanceof ServerFault || caller.signal.aborted ? error : new ServerFault(whyNot(error, why));
  }
}

async function open(dial: Dial, { version, signal, onListChanged }: Caller): Promise<Connection> {
  let isOpen = true;
  const client = new (sdk().Client)(
    { name: 'signalbox', version },
    {
      // No sampling, elicitation or roots: the protocol's own error answers such requests of a server.
      capabilities: {},
      versionNegotiation: { mode: dial.mode },
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
    },
  );
  client.onclose = () => {
    isOpen = false;
  };
  // The library calls a handler that was set before the connection first, with the same message.
  dial.transport.onmessage = normalizeResult;
  await client.connect(dial.transport, { timeout: CONNECT_MS, signal });
  return {
    client,
    isOpen: () => isOpen,
    why: dial.why,
    close: async () => {
      isOpen = false;
      await dial.close();
    },
  };
}

/** Whether the server answered with a refusal. */
function isRefusal(error: unknown): boolean {
  if (error instanceof sdk().SdkHttpError)
    return error.status >= 400 && error.status < 500 && ![401, 403, 429].includes(error.status);
  return error instanceof sdk().ProtocolError;
}

function whyNot(error: unknown, why: string | null): string {
  return why ?? failureText(error);
}

const MAX_QUOTED = 500;

/** What the client library throws, as a sentence. */
export function failureText(error: unknown): string {
  if (error instanceof sdk().SdkHttpError) return statusText(error.status, error.data.text);
  if (error instanceof sdk().ProtocolError) return `it answers with the error ${error.code}: ${cut(error.message)}`;
  if (error instanceof SyntaxError) return 'its answer is not valid JSON';
  if (error instanceof Error && error.name.endsWith('ZodError')) return 'its answer is not a message of the protocol';
  return error instanceof Error ? cut(error.message) : cut(String(error));
}

function statusText(status: number, text: unknown): string {
  const hint =
    status === 401 || status === 403 ? ': check the headers that the tool declares and the secret in them' : '';
  const detail = typeof text === 'string' && text.trim() !== '' ? ` (${cut(text.trim())})` : '';
  return `it answers with status ${status}${hint}${detail}`;
}

function cut(text: string): string {
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED)} […]`;
}

/**
 * Brings the result of a call into the form that the client library accepts, in place, before the library reads it. The
 * library rejects a whole result for one block of a type that it does not know; the blocks beside it are still useful.
 */
function normalizeResult(message: JSONRPCMessage): void {
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
