export type { Net, NetAnswer, NetFault, NetFaultKind, NetRequest, NetStream, NetTarget } from './contract.js';
export { createNet } from './create-net.js';
export { type PostedBody, postToOperatorUrl } from './operator-post.js';
export { hasParentSegment } from './within.js';
