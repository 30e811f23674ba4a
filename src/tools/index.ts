export { assembleTools } from './assemble-tools.js';
export type { AgentTool, KeptFile, LaneFolder, ToolContext, ToolOutcome } from './contract.js';
export { dropLane } from './lane/drop-lane.js';
export { keepStep } from './lane/keep-step.js';
export { openLane } from './lane/open-lane.js';
