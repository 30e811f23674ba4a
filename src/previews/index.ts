export { dropPreview } from './drop-preview.js';
export { type BranchPush, MAX_PREVIEWS, type PutPreview, putPreview } from './put-preview.js';
