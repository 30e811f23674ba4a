/** What the worker's bundle holds: every workflow by its type's name. */
export { runFlow } from './run-flow.js';
