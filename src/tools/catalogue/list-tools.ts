import type { ToolSpec } from '../../models/contract.js';
import type { AgentTool } from '../contract.js';
import { toolOf } from '../names.js';
import { callTool } from './call-tool.js';
import { findTool } from './find-tool.js';

/** The maximum of listed tools: with more a model chooses worse and pays for all of them with every call. */
export const MAX_LISTED = 40;

export interface Catalogue {
  /** Every tool that may be called, by the name that the model has. */
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** The tools that the model sees. */
  readonly listed: readonly ToolSpec[];
}

/**
 * All tools of a step. While they are over 40 the tool with the most operations leaves the list, and is searched by
 * `find_tool` and called by `call_tool`; a document of a thousand operations hides no small tool beside it.
 */
export function listTools(tools: readonly AgentTool[]): Catalogue {
  const hidden = hiddenOf(tools);
  const found = hidden.length === 0 ? [] : [findTool(hidden), callTool];
  const shown = [...tools.filter((tool) => !hidden.includes(tool)), ...found];
  return {
    tools: new Map([...shown, ...hidden].map((tool) => [tool.spec.name, tool])),
    listed: shown.map(({ spec }) => spec),
  };
}

function hiddenOf(tools: readonly AgentTool[]): readonly AgentTool[] {
  const groups = new Map<string, AgentTool[]>();
  for (const tool of tools) {
    const group = groups.get(toolOf(tool.ref)) ?? [];
    groups.set(toolOf(tool.ref), group);
    group.push(tool);
  }
  const largest = [...groups.values()].filter(({ length }) => length > 1).sort((a, b) => b.length - a.length);
  const hidden: AgentTool[] = [];
  for (const group of largest) {
    if (tools.length - hidden.length <= MAX_LISTED) break;
    for (const tool of group) hidden.push(tool);
  }
  return hidden;
}
