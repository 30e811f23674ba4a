export type { ApiBody, ApiField, ApiOperation, ApiParameter, Style } from './api-operation.js';
export { type FoundOperation, listOperations } from './list-operations.js';
export { asOpenapi, type DocumentRead, readJsonTree, readTree } from './read-document.js';
export { mediaTypeOf, readOperation, serversOf } from './read-operation.js';
export { addressOf, References, refOf } from './references.js';
export { unreadAddresses } from './unread-addresses.js';
