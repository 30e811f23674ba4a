export type { FlowChange } from '../../format/index.js';
export { changeFlow, deleteFlow } from './change-flow.js';
export { changeWorkspace } from './change-workspace.js';
export { createAgent, createAsset } from './create-asset.js';
export { createFlow } from './create-flow.js';
export { listAgents } from './list-agents.js';
export { listFlows } from './list-flows.js';
export { readFlow } from './read-flow.js';
export { readVocabulary } from './read-vocabulary.js';
