import type { Route } from '../../define-route.js';
import { createInLibrary, removeFromLibrary, writeInLibrary } from './change-library.js';
import { readLibrary, readLibraryHistory } from './read-library.js';

/** `history` comes first, so that it is not taken for a kind. */
export const libraryRoutes: readonly Route[] = [
  readLibraryHistory,
  readLibrary,
  createInLibrary,
  writeInLibrary,
  removeFromLibrary,
];
