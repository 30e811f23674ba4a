export { assembleTools } from './assemble-tools.js';
export type { AgentTool, KeptFile, LaneFolder, LanePlace, ToolContext, ToolOutcome } from './contract.js';
export { dropLane } from './lane/drop-lane.js';
export { keepStep } from './lane/keep-step.js';
export { lanePlace, openLane } from './lane/open-lane.js';
