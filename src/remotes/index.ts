export { advertiseFetch, serveFetch } from './fetch.js';
export { findRemote } from './find-remote.js';
export { type Applied, applyPending, applyPendingPush } from './pending/apply-pending.js';
export { PENDING } from './pending/pending-rows.js';
export { advertisePush } from './receive/advertise-push.js';
export { receivePush } from './receive/receive-push.js';
export type { GitService, Remote } from './remote.js';
export { startGitSweep } from './sweep.js';
