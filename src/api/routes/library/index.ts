import type { Route } from '../../define-route.js';
import { createInLibrary, removeFromLibrary, writeInLibrary } from './change-library.js';
import { readLibrary, readLibraryHistory } from './read-library.js';

/** `history` before the kinds: it is none. */
export const libraryRoutes: readonly Route[] = [
  readLibraryHistory,
  readLibrary,
  createInLibrary,
  writeInLibrary,
  removeFromLibrary,
];
