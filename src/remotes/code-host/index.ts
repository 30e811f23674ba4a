export { listPushes } from './list-pushes.js';
export { pushQueue } from './push-queue.js';
export { receiveCodePush, requireProofHeader } from './receive-push.js';
