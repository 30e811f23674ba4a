export type { Net, NetAnswer, NetFault, NetFaultKind, NetRequest, NetTarget } from './contract.js';
export { createNet } from './create-net.js';
export { climbs } from './within.js';
