import type { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { McpToolPlan } from '../../format/model.js';
import { newId } from '../../shared/ids.js';
import { isRecord, type JsonObject } from '../../shared/json.js';
import type { ToolContext, ToolOutcome } from '../contract.js';
import { writeLaneFile } from '../lane/lane-files.js';
import { extensionOf } from '../lane/media-type.js';
import { callServerTool, SessionLost } from './call-tool.js';
import { type Connection, connect, type Dial, failureText } from './connection.js';
import { type McpDeps, type Server, type ServerCall, ServerFault, type ServerTool } from './contract.js';
import { type ResultPart, readResult } from './read-result.js';

/** The limits of a tool's texts, in characters. A longer schema is not shown. */
const MAX_DESCRIPTION = 4_000;

const MAX_SCHEMA = 50_000;

const MAX_NAME = 256;

/** Limits of one server's list of tools. */
const MAX_TOOLS = 20_000;

const MAX_PAGES = 1_000;

/** Pages without a new tool, after which the list counts as ended. */
const MAX_IDLE_PAGES = 3;

/**
 * The maximum of a kept list, in characters: each of 20,000 tools may have a long schema, and lanes share the worker's
 * memory.
 */
const MAX_LIST = 32 * 1_048_576;

const LIST_MS = 60_000;

/** Parsed here and not by the client library, so that one invalid tool does not lose the others. */
const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });

/** The maximum of restarts of a program; a connection may be reopened at each call. */
const RESTARTS = 1;

const MAX_NAMES_SHOWN = 20;

export interface ServerInput {
  readonly plan: McpToolPlan;
  /** The transports to try, created for each connection with what the step may use then. */
  readonly dials: (context: ToolContext) => Promise<readonly (() => Dial)[]>;
  readonly isLocal: boolean;
}

/** A server that is connected on demand, and restarted once when it dies. */
export class McpServer implements Server {
  #connection: Connection | null = null;
  #connecting: Promise<Connection> | null = null;
  #tools: readonly ServerTool[] | null = null;
  #deaths = 0;
  #lastWords = '';
  /** A notice that goes to the model with the next answer. */
  #notice: string | null = null;

  constructor(
    readonly deps: McpDeps,
    readonly input: ServerInput,
  ) {}

  async tools(context: ToolContext): Promise<readonly ServerTool[]> {
    return this.#tools ?? this.#list(await this.#ready(context), context);
  }

  async call(call: ServerCall, context: ToolContext): Promise<ToolOutcome> {
    const result = await this.#callOnce(call, context).catch((error: unknown) => {
      if (!(error instanceof SessionLost)) throw error;
      return this.leave().then(() => this.#callOnce(call, context));
    });
    const { plan } = this.input;
    const outcome = await keepResult(this.deps, result, { context, name: `${plan.name}-${call.tool.name}` });
    const notice = this.#notice;
    this.#notice = null;
    return notice === null ? outcome : { ...outcome, text: `[${notice}]\n${outcome.text}` };
  }

  /** Closes its connection, and with it its program. The server can be used again. */
  async leave(): Promise<void> {
    const connection = this.#connection ?? (await this.#connecting?.catch(() => null)) ?? null;
    this.#connection = null;
    await connection?.close();
  }

  async #callOnce(call: ServerCall, context: ToolContext): Promise<Readonly<Record<string, unknown>>> {
    const connection = await this.#ready(context);
    const tools = this.#tools ?? (await this.#list(connection, context));
    if (!tools.some(({ name }) => name === call.tool.name)) throw new ServerFault(goneText(call.tool.name, tools));
    return callServerTool(connection, call, { plan: this.input.plan, context });
  }

  async #list(connection: Connection, context: ToolContext): Promise<readonly ServerTool[]> {
    try {
      const tools = await listServerTools(connection.client, context.signal);
      this.#tools = tools;
      return tools;
    } catch (error) {
      if (error instanceof ServerFault || context.signal.aborted) throw error;
      throw new ServerFault(connection.isOpen() ? failureText(error) : (connection.why() ?? failureText(error)));
    }
  }

  #ready(context: ToolContext): Promise<Connection> {
    if (this.#connection?.isOpen()) return Promise.resolve(this.#connection);
    // Concurrent calls that find it dead share one new connection.
    this.#connecting ??= this.#connect(context).finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(context: ToolContext): Promise<Connection> {
    const { isLocal, dials } = this.input;
    if (this.#connection !== null) this.#recordDeath(this.#connection);
    if (isLocal && this.#deaths > RESTARTS)
      throw new ServerFault(`it has ended ${this.#deaths} times and is not started again: ${this.#lastWords}`);
    try {
      this.#connection = await connect(await dials(context), {
        version: this.deps.config.version,
        signal: context.signal,
        onListChanged: () => {
          this.#tools = null;
        },
      });
      return this.#connection;
    } catch (error) {
      if (error instanceof ServerFault) {
        this.#deaths += 1;
        this.#lastWords = error.message;
      }
      throw error;
    }
  }

  #recordDeath(connection: Connection): void {
    const why = connection.why() ?? 'the connection closed';
    this.#connection = null;
    this.#deaths += 1;
    this.#lastWords = why;
    this.#notice = this.input.isLocal
      ? `the MCP server ${this.input.plan.name} had ended (${why}) and was started again: what it had in memory is gone`
      : `the connection to the MCP server ${this.input.plan.name} had ended (${why}) and was opened again`;
    connection.close().catch(() => undefined);
  }
}

function goneText(name: string, tools: readonly ServerTool[]): string {
  const names = tools.slice(0, MAX_NAMES_SHOWN).map((tool) => tool.name);
  const more = tools.length > names.length ? ` and ${tools.length - names.length} more` : '';
  return `it no longer has a tool ${name}: it has ${names.join(', ') || 'none'}${more}`;
}

/** What the model reads of a result: its texts, and the paths of saved files. */
async function keepResult(
  deps: Pick<McpDeps, 'sandbox'>,
  result: Readonly<Record<string, unknown>>,
  { context, name }: { readonly context: ToolContext; readonly name: string },
): Promise<ToolOutcome> {
  const parts = readResult(result);
  const lines: string[] = [];
  for (const part of parts) lines.push(part.kind === 'text' ? part.text : await keepFile(deps, context, name, part));
  const text = lines.join('\n');
  const left = parts.some(({ kind }) => kind === 'file');
  return { text: text === '' ? '(no output)' : text, isError: result.isError === true, ...(left && { left }) };
}

async function keepFile(
  { sandbox }: Pick<McpDeps, 'sandbox'>,
  { folder, secrets }: ToolContext,
  name: string,
  { what, mediaType, base64 }: Extract<ResultPart, { kind: 'file' }>,
): Promise<string> {
  const content = secrets.hide().bytes(Buffer.from(base64, 'base64'));
  const path = `files/${name.replace(/[^\w-]+/g, '_').slice(0, 64)}-${newId()}${extensionOf(mediaType)}`;
  const kept = await writeLaneFile({ work: folder.work, path, content, uid: sandbox.uid }).then(
    () => true,
    // A program may have replaced the folder.
    () => false,
  );
  const size = `${what}, ${content.length} bytes`;
  return kept ? `[${size}: ${path}]` : `[${size}: it could not be saved, since files/ is no longer a folder]`;
}

/**
 * All pages of a server's tools, each name once. A list ends early when its cursor does not advance or its pages bring
 * no new tools. Throws the client's errors, and a ServerFault for a list that is too long.
 */
async function listServerTools(client: Client, signal: AbortSignal): Promise<readonly ServerTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const until = performance.now() + LIST_MS;
  const tools = new Map<string, ServerTool>();
  const seen = new Set<string>();
  let size = 0;
  let idlePages = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const timeout = Math.max(1, until - performance.now());
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, Page, { signal, timeout });
    const before = tools.size;
    for (const value of page.tools) {
      const tool = readServerTool(value);
      if (!tool || tools.has(tool.name)) continue;
      tools.set(tool.name, tool);
      size += JSON.stringify(tool).length;
    }
    if (size > MAX_LIST) throw new ServerFault(`its list of tools is longer than ${MAX_LIST / 1_048_576} MiB`);
    if (tools.size > MAX_TOOLS) throw new ServerFault(`it lists more than ${MAX_TOOLS} tools`);
    cursor = page.nextCursor ?? undefined;
    idlePages = tools.size > before ? 0 : idlePages + 1;
    if (cursor === undefined || cursor === '' || seen.has(cursor) || idlePages === MAX_IDLE_PAGES) {
      return [...tools.values()];
    }
    if (pages === MAX_PAGES) throw new ServerFault('its list of tools does not end');
    seen.add(cursor);
  }
}

/** Reads a tool of a server's list and limits its texts, which are untrusted; null for an invalid one. */
function readServerTool(value: unknown): ServerTool | null {
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
  const text = description.trim() === '' && typeof title === 'string' ? title : description;
  const clean = text.replaceAll('\0', '').trim();
  return clean.length <= MAX_DESCRIPTION ? clean : `${clean.slice(0, MAX_DESCRIPTION)} […]`;
}

/** An invalid or too long schema is replaced by one that accepts any arguments: the server validates them. */
function schemaOf(schema: unknown): JsonObject {
  const isUsable = isRecord(schema) && schema.type === 'object' && JSON.stringify(schema).length <= MAX_SCHEMA;
  return isUsable ? (schema as JsonObject) : { type: 'object' };
}
