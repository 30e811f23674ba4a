export { dropPreview } from './drop-preview.js';
export { lockPreviews } from './find-preview.js';
export {
  type BranchPush,
  MAX_PREVIEWS,
  type PutPreview,
  planPreview,
  previewTurn,
  putPreview,
} from './put-preview.js';
