import type { McpToolPlan } from '../../format/model.js';
import type { ToolContext, ToolOutcome } from '../contract.js';
import { callServerTool, SessionLost } from './call-tool.js';
import { type Connection, connect, type Dial, failureText } from './connection.js';
import { type McpDeps, type Server, type ServerCall, ServerFault, type ServerTool } from './contract.js';
import { keepResult } from './keep-result.js';
import { listServerTools } from './list-tools.js';

/** The maximum of starts of a program; a connection may be reopened at each call. */
const RESTARTS = 1;
const NAMES_TOLD = 20;

export interface ServerInput {
  readonly plan: McpToolPlan;
  /** The transports to try, created for each connection with what the step may use then. */
  readonly dials: (context: ToolContext) => Promise<readonly (() => Dial)[]>;
  readonly isLocal: boolean;
}

/** A server that is connected to when it is needed, and started again once when it dies. */
export class McpServer implements Server {
  #connection: Connection | null = null;
  #connecting: Promise<Connection> | null = null;
  #tools: readonly ServerTool[] | null = null;
  #deaths = 0;
  #lastWords = '';
  /** A notice that goes to the model with the next answer. */
  #news: string | null = null;

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
    const news = this.#news;
    this.#news = null;
    return news === null ? outcome : { ...outcome, text: `[${news}]\n${outcome.text}` };
  }

  /** Ends its connection, and with it its program; it can be used again. */
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
    // Calls of one turn that find it dead wait for the same new one.
    this.#connecting ??= this.#connect(context).finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(context: ToolContext): Promise<Connection> {
    const { isLocal, dials } = this.input;
    if (this.#connection !== null) this.#bury(this.#connection);
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

  #bury(connection: Connection): void {
    const why = connection.why() ?? 'the connection closed';
    this.#connection = null;
    this.#deaths += 1;
    this.#lastWords = why;
    this.#news = this.input.isLocal
      ? `the MCP server ${this.input.plan.name} had ended (${why}) and was started again: what it had in memory is gone`
      : `the connection to the MCP server ${this.input.plan.name} had ended (${why}) and was opened again`;
    connection.close().catch(() => undefined);
  }
}

function goneText(name: string, tools: readonly ServerTool[]): string {
  const names = tools.slice(0, NAMES_TOLD).map((tool) => tool.name);
  const more = tools.length > names.length ? ` and ${tools.length - names.length} more` : '';
  return `it has no tool ${name} any more: it has ${names.join(', ') || 'none'}${more}`;
}
