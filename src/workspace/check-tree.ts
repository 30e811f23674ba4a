import { compileWorkspace } from './compile/compile-workspace.js';
import type { CheckContext, Checked, Issue, SourceFile } from './model.js';
import { placeOf } from './parse/place.js';
import { readFile } from './parse/read-file.js';
import { decodeSource } from './parse/source.js';
import { catalogOf } from './resolve/catalog.js';

/**
 * Reads a whole tree and reports every fault of it at once, sorted by path, line and column; compiles it when there
 * is no error. Never throws. `library` is the account's, its paths without `library/` in front.
 */
export function checkTree(
  files: readonly SourceFile[],
  _context: CheckContext,
  _library: readonly SourceFile[] = [],
): Checked {
  const sortedFiles = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const issues: Issue[] = [];
  const read = sortedFiles.flatMap((file) => {
    const place = placeOf(file.path);
    if (place.kind === 'other') return [];
    const source = decodeSource(file.path, file.content);
    return source ? [readFile(source, place)] : [];
  });
  issues.push(...read.flatMap((file) => file.issues));
  if (issues.some(({ severity }) => severity === 'error')) return { workspace: null, issues };
  return { workspace: compileWorkspace(catalogOf(sortedFiles, read)), issues };
}
