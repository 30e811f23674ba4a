export { changeAccount } from './change-account.js';
export { readAccount } from './read-account.js';
