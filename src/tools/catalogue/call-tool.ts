import type { ToolCall } from '../../models/contract.js';
import { isRecord, type JsonObject } from '../../shared/json.js';
import { parameters, text } from '../arguments.js';
import type { AgentTool } from '../contract.js';

export const CALL_TOOL = 'call_tool';

/** Calls the tool that it names: see realCall. */
export const callTool: AgentTool = {
  ref: CALL_TOOL,
  spec: {
    name: CALL_TOOL,
    description: 'Calls a tool that find_tool has found, with the arguments that its parameters describe.',
    parameters: parameters(
      {
        name: text('The name of the tool, as find_tool shows it.'),
        arguments: { type: 'object', description: 'The arguments of that tool.' },
      },
      ['name'],
    ),
  },
  acts: () => false,
  program: false,
  run: async () => {
    throw new Error('call_tool is replaced by what it calls, never run');
  },
};

/**
 * Replaces a `call_tool` by the call of the tool that it names, so that gates, the journal, the trace and the loop
 * detection see that tool and its arguments. An invalid `call_tool` stays and answers with an error.
 */
export function realCall(call: ToolCall): ToolCall {
  const { id, name, args } = call;
  if (name !== CALL_TOOL || args === null) return call;
  const { name: wanted, arguments: given = {}, ...rest } = args;
  if (typeof wanted !== 'string' || wanted === CALL_TOOL || !isRecord(given)) return call;
  return Object.keys(rest).length > 0 ? call : { id, name: wanted, args: given as JsonObject };
}
