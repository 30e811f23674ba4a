import { toJson } from '../../shared/exact-json.js';
import type { ModelRequest } from '../contract.js';
import { exampleOf } from './example-of.js';
import { instructionLine } from './fill.js';
import type { ScriptTurn } from './script-file.js';

/**
 * The answer of an agent without a script: a text that says that no model wrote it, or the least JSON that fits the
 * schema.
 */
export function unscriptedTurn(request: ModelRequest): ScriptTurn {
  const example = request.schema === undefined ? undefined : exampleOf(request.schema);
  const text = example === undefined ? plainText(request) : toJson(example);
  return { text, line: 0 };
}

function plainText(request: ModelRequest): string {
  if (request.script?.purpose === 'summary') {
    return '[scripted] No model wrote this summary. The older turns are left out; their results are kept.';
  }
  const { agent, step } = request.script ?? { agent: 'this agent', step: 'this step' };
  return `[scripted] No model wrote this. Step ${step} asked ${agent}: ${instructionLine(request)}`;
}
