export { deleteBranch } from './delete-branch.js';
export { deployRef } from './deploy-ref.js';
export { dropPending } from './drop-pending.js';
export { mergeBranch } from './merge-branch.js';
export { mirrorQueue } from './mirror/mirror-queue.js';
export { mirrorNow, setMirror } from './mirror/set-mirror.js';
export { readBranch } from './read-branch.js';
export { readRepo } from './read-repo.js';
