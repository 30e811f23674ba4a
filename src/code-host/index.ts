export { listPushes } from './list-pushes.js';
export { receiveCodePush, requireProofHeader } from './receive-push.js';
export { secretText } from './secret-text.js';
export { startPushLoops } from './start-push-loops.js';
