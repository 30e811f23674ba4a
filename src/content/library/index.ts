export { adoptAccountFile } from './adopt-account-file.js';
export { changeAccount } from './change-account.js';
export { requireWholeAccount } from './change-library.js';
export { createLibraryFile, removeLibraryFile, writeLibraryFile } from './edit-library.js';
export { LIBRARY_KINDS } from './kinds.js';
export { listLibraryChanges, readLibraryChange } from './library-history.js';
export { listLibrary } from './list-library.js';
export { pushLibrary } from './push-library.js';
export { type LibraryFile, readLibraryFile } from './read-library-file.js';
