export { createKey } from './create-key.js';
export { listKeys } from './list-keys.js';
export { revokeKey } from './revoke-key.js';
