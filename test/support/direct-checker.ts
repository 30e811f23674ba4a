import { type Checker, checkShelf, checkTree, readShelf, runJob } from '../../src/workspace/index.js';

/** The real reader of trees, in this thread. */
export const directChecker: Checker = {
  check: async (files, context, library) => checkTree(files, context, readShelf(library?.files ?? [])),
  checkShelf: async (files) => checkShelf(files),
  work: async (name, input) => runJob(name, input),
  close: async () => undefined,
};
