import type { HttpToolPlan } from '../../format/model.js';
import type { Operation, ToolContext } from '../contract.js';
import { genericTool } from '../http/generic-tool.js';
import { openapiTool } from '../http/openapi-tool.js';
import type { HttpDeps } from '../http/request.js';
import { unusable } from './unusable.js';

/** An http tool: one typed tool an operation of its document, or one for any path below its base. */
export async function httpTool(
  deps: HttpDeps,
  tool: HttpToolPlan,
  context: ToolContext,
): Promise<readonly Operation[]> {
  const { base, openapi } = tool;
  if (openapi !== undefined) return openapiTool(deps, { ...tool, openapi }, context);
  if (base !== undefined) return [genericTool(deps, { ...tool, base })];
  return [unusable(null, `tool ${tool.name} has no address: give it a \`base:\``)];
}
