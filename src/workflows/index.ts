/** What the worker's bundle holds: every workflow by its type's name. */
export { runFlow } from './run-flow.js';
export { testTool } from './test-tool.js';
