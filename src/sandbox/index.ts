export { PROGRAM_PATH } from './bubblewrap-argv.js';
export { LEFT_OUT } from './capture-output.js';
export type { Killed, ProgramPipes, ProgramResult, ProgramSpec, Sandbox } from './contract.js';
export { createSandbox } from './create-sandbox.js';
export type { Limits } from './limits.js';
export { listPrograms, type ProgramsHere } from './list-programs.js';
export type { NetworkGrant, NetworkUse, RefusedHost } from './network/contract.js';
export { removeFolder } from './remove-folder.js';
