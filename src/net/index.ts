export type { Net, NetAnswer, NetFault, NetFaultKind, NetRequest } from './contract.js';
export { createNet } from './create-net.js';
