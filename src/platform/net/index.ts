export type { Net, NetAnswer, NetFault, NetFaultKind, NetRequest, NetStream, NetTarget } from './contract.js';
export { createNet } from './create-net.js';
export { climbs } from './within.js';
