import { didYouMean, validate } from '../../format/index.js';
import type { ToolCall } from '../../models/contract.js';
import type { JsonObject } from '../../shared/json.js';
import type { Session } from './session.js';

const MAX_FAULTS = 10;

/** Why a call is invalid, as the model reads it; null when it is valid. */
export function checkCall(session: Session, call: ToolCall): string | null {
  const tool = session.tools.get(call.name);
  if (!tool) {
    const hint = didYouMean(call.name, [...session.tools.keys()]);
    const names = session.listed.map(({ name }) => name);
    return `there is no tool ${call.name}. ${hint ? `${hint} ` : ''}There are: ${names.join(', ') || 'none'}`;
  }
  if (call.args === null) return `the arguments are not a JSON object: ${(call.raw ?? '').slice(0, 200)}`;
  return argumentFault(tool.spec.parameters, call.args);
}

/** Why arguments do not fit a tool's parameters; null when they do. Runs and tests of tools both use it. */
export function argumentFault(parameters: JsonObject, args: JsonObject): string | null {
  const faults = validate(parameters, args);
  return faults.length === 0 ? null : `the arguments do not fit: ${faults.slice(0, MAX_FAULTS).join('; ')}`;
}
