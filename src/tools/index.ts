export { assembleTools } from './assemble-tools.js';
export { realCall } from './catalogue/call-tool.js';
export { type Catalogue, listTools } from './catalogue/list-tools.js';
export type {
  AgentTool,
  CallContext,
  CannedResults,
  KeptFile,
  LaneFolder,
  LanePlace,
  ToolContext,
  ToolOutcome,
} from './contract.js';
export { dropLane } from './lane/drop-lane.js';
export { keepStep } from './lane/keep-step.js';
export { lanePlace, openLane } from './lane/open-lane.js';
export { limitResult } from './limit-result.js';
export type { LaneServers } from './mcp/contract.js';
export { createLaneServers } from './mcp/lane-servers.js';
export { means, toolOf } from './names.js';
