export { listPushes } from './list-pushes.js';
export { receiveCodePush, requireProofHeader } from './receive-push.js';
export { startPushLoops } from './start-push-loops.js';
