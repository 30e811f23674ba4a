export type { FlowChange } from '../workspace/index.js';
export { changeFlow, deleteFlow } from './change-flow.js';
export { createFlow } from './create-flow.js';
export { listFlows } from './list-flows.js';
export { readFlow } from './read-flow.js';
