import type { Issue } from './model.js';

/** Issues by path, line and column. */
export function inOrder(a: Issue, b: Issue): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.line - b.line || a.column - b.column || (a.code < b.code ? -1 : a.code > b.code ? 1 : 0);
}
