export type { ProgramResult, ProgramSpec, Sandbox } from './contract.js';
export { createSandbox } from './create-sandbox.js';
export { DEFAULT_LIMITS, type Limits } from './limits.js';
export { removeFolder } from './remove-folder.js';
