import { Refusal } from '../../shared/refusal.js';
import type { ToolPlan } from '../../workspace/model.js';

/** Refuses a tool whose transport this version does not run, before a model is told that it has it. */
export function refusedTransport(tool: ToolPlan): never {
  throw new Refusal('refused', `tool ${tool.name} uses transport ${tool.transport}, which this version does not run`);
}
