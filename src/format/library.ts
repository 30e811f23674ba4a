import { checkNames } from './check/check-names.js';
import { checkPaths } from './check/check-paths.js';
import { checkTools } from './check/check-tools.js';
import { reporter } from './check/report.js';
import { inOrder } from './in-order.js';
import type { Issue, SourceFile } from './model.js';
import { libraryPlaceOf } from './parse/place.js';
import { type ReadFile, readFile } from './parse/read-file.js';
import { decodeSource } from './parse/source.js';
import { catalogOf, LIBRARY } from './resolve/catalog.js';

/** The account's library, read once for all trees that are checked against it. Paths begin with `library/`. */
export interface ParsedLibrary {
  readonly files: readonly SourceFile[];
  readonly read: readonly ReadFile[];
}

export const EMPTY_LIBRARY: ParsedLibrary = { files: [], read: [] };

/** The paths of `files` do not begin with `library/`. Files of other kinds than the library's are not read. */
export function parseLibrary(files: readonly SourceFile[]): ParsedLibrary {
  const placed = files.map((file) => ({ ...file, path: LIBRARY + file.path }));
  const read = placed.flatMap((file) => {
    const place = libraryPlaceOf(file.path.slice(LIBRARY.length));
    const source = place.kind === 'other' ? null : decodeSource(file.path, file.content);
    return source ? [readFile(source, place)] : [];
  });
  return { files: placed, read };
}

/** The entry of a file in a list of the library. */
export interface LibraryEntry {
  readonly path: string;
  readonly name: string;
  /** The title of a document; the name of other files. */
  readonly title: string;
  readonly description: string;
}

export interface CheckedLibrary {
  /** With the library's own paths: `tools/x.md`. */
  readonly issues: readonly Issue[];
  readonly entries: readonly LibraryEntry[];
}

/** Reports all faults of the library alone, as a deploy does for a tree. Never throws. */
export function checkLibrary(files: readonly SourceFile[]): CheckedLibrary {
  const issues = checkPaths(files, libraryPlaceOf).filter(
    (issue) => !isScript(issue.path) || issue.severity === 'error',
  );
  if (issues.some(({ code }) => code === 'tree/too-large')) return { issues, entries: [] };
  const refused = new Set(issues.filter(({ severity }) => severity === 'error').map(({ path }) => path));
  const library = parseLibrary(files.filter(({ path }) => !refused.has(path)));
  const lists = new Map<string, Issue[]>();
  const report = reporter(lists);
  checkNames(library.read, report);
  checkTools(catalogOf(library.files, library.read), null, report);
  for (const issue of [...library.read.flatMap((file) => file.issues), ...[...lists.values()].flat()])
    issues.push({ ...issue, path: issue.path.slice(LIBRARY.length) });
  for (const issue of notText(files, refused)) issues.push(issue);
  return { issues: issues.sort(inOrder), entries: entriesOf(library, files) };
}

function isScript(path: string): boolean {
  return path.startsWith('scripts/');
}

function notText(files: readonly SourceFile[], refused: ReadonlySet<string>): Issue[] {
  return files
    .filter(({ path }) => !refused.has(path) && libraryPlaceOf(path).kind !== 'other')
    .filter(({ path, content }) => decodeSource(path, content) === null)
    .map(({ path }) => {
      const message = 'The file is not UTF-8 text.';
      return { path, line: 1, column: 1, code: 'file/not-utf8', severity: 'error', message, hint: 'Save it as UTF-8.' };
    });
}

function entriesOf({ read }: ParsedLibrary, files: readonly SourceFile[]): LibraryEntry[] {
  const byPath = new Map(read.map((file) => [file.source.path.slice(LIBRARY.length), file]));
  return files.map(({ path }) => {
    const file = byPath.get(path);
    const name = file?.place.name ?? path.slice(path.indexOf('/') + 1);
    const title = file?.model?.kind === 'document' ? file.model.title : name;
    return { path, name, title, description: descriptionOf(file) };
  });
}

function descriptionOf(file: ReadFile | undefined): string {
  const model = file?.model;
  if (model?.kind === 'tool') return model.keys.values.description ?? '';
  return model?.kind === 'skill' || model?.kind === 'document' ? model.description : '';
}
