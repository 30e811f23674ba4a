import { type Checker, checkLibrary, checkTree, parseLibrary, runJob } from '../../src/format/index.js';

/** The real reader of trees, in this thread. */
export const directChecker: Checker = {
  check: async (files, context, library) => checkTree(files, context, parseLibrary(library?.files ?? [])),
  checkLibrary: async (files) => checkLibrary(files),
  work: async (name, input) => runJob(name, input),
  close: async () => undefined,
};
