export type { Killed, ProgramResult, ProgramSpec, Sandbox } from './contract.js';
export { createSandbox } from './create-sandbox.js';
export type { Limits } from './limits.js';
export { removeFolder } from './remove-folder.js';
