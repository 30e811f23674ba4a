import type { Client, Progress } from '@modelcontextprotocol/client';
import type { McpToolPlan } from '../../format/model.js';
import { markIntegers } from '../../shared/exact-json.js';
import type { ToolContext } from '../contract.js';
import { type Connection, failureText } from './connection.js';
import { type ServerCall, ServerFault } from './contract.js';
import { sdk } from './sdk.js';

/** The timeout for a server that declares none; progress restarts it, up to an hour. */
const CALL_MS = 120_000;
const LONGEST_MS = 3_600_000;
const PROGRESS_SHOWN = 500;

/** Calls a tool of a connected server. Throws a ServerFault that says whether it may have acted. */
export async function callServerTool(
  { client, isOpen, why }: Connection,
  { tool, args }: ServerCall,
  { plan, context }: { readonly plan: McpToolPlan; readonly context: ToolContext },
): Promise<Readonly<Record<string, unknown>>> {
  const timeMs = plan.timeoutMs ?? CALL_MS;
  try {
    return await callOf(
      client,
      { tool, args },
      {
        signal: context.signal,
        timeout: timeMs,
        resetTimeoutOnProgress: plan.timeoutMs === undefined,
        maxTotalTimeout: Math.max(timeMs, LONGEST_MS),
        onprogress: reportProgress(context),
      },
    );
  } catch (error) {
    if (context.signal.aborted || error instanceof ServerFault) throw error;
    if (isTimeout(error))
      throw new ServerFault(`it did not answer within ${timeMs / 1_000} s, and may have done what was asked`, true);
    if (!isOpen())
      throw new ServerFault(`interrupted, may have partly run: ${why() ?? 'it closed the connection'}`, true);
    if (error instanceof sdk().SdkHttpError && error.status === 404) throw new SessionLost();
    if (error instanceof sdk().SdkError && error.code === sdk().SdkErrorCode.InvalidResult)
      throw new ServerFault(
        'its answer is not a valid result of the protocol, and it may have done what was asked',
        true,
      );
    throw new ServerFault(failureText(error));
  }
}

/** The server no longer knows this session, so it has not executed the call. */
export class SessionLost extends ServerFault {
  constructor() {
    super('it answers with status 404: it does not know this session');
  }
}

type CallOptions = NonNullable<Parameters<Client['callTool']>[1]>;

function callOf(client: Client, { tool, args }: ServerCall, options: CallOptions) {
  // Omits the output schema, so that the client does not reject results that break the server's own schema.
  const toolDefinition = { name: tool.name, inputSchema: { ...tool.parameters, type: 'object' as const } };
  return client.callTool({ name: tool.name, arguments: markIntegers(args) }, { ...options, toolDefinition });
}

function isTimeout(error: unknown): boolean {
  return error instanceof sdk().SdkError && error.code === sdk().SdkErrorCode.RequestTimeout;
}

function reportProgress({ onOutput, secrets }: ToolContext): (progress: Progress) => void {
  return ({ progress, total, message }) => {
    const count = total === undefined ? `${progress}` : `${progress} of ${total}`;
    const line = message === undefined ? count : `${count}: ${message.slice(0, PROGRESS_SHOWN)}`;
    onOutput?.(`${secrets.hide().text(line)}\n`);
  };
}
