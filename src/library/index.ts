export { changeAccount } from './change-account.js';
export { createLibraryFile, removeLibraryFile, writeLibraryFile } from './edit-library.js';
export { LIBRARY_KINDS } from './kinds.js';
export { listLibraryChanges, readLibraryChange } from './library-history.js';
export { listLibrary } from './list-library.js';
export { type LibraryFile, readLibraryFile } from './read-library-file.js';
