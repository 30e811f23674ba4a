import { checkAgents } from './check/check-agents.js';
import { checkEvals } from './check/check-evals.js';
import { checkFlows } from './check/check-flows.js';
import { checkLinks } from './check/check-links.js';
import { checkModels } from './check/check-models.js';
import { checkNames } from './check/check-names.js';
import { checkPaths } from './check/check-paths.js';
import { checkGrants, checkSecretNames } from './check/check-secrets.js';
import { checkTools } from './check/check-tools.js';
import { reporter } from './check/report.js';
import { compileWorkspace } from './compile/compile-workspace.js';
import { notifyUrls } from './compile/notify-urls.js';
import { inOrder } from './in-order.js';
import { EMPTY_LIBRARY, type ParsedLibrary } from './library.js';
import type { CheckContext, Checked, Issue, SourceFile } from './model.js';
import { placeOf } from './parse/place.js';
import type { ReadFile } from './parse/read-file.js';
import { Reader } from './parse/read-once.js';
import { type Catalog, catalogOf, LIBRARY } from './resolve/catalog.js';

/**
 * Reads a whole tree and reports all of its faults, sorted by path, line and column. Compiles it when there is no
 * error. Never throws. `library` is the account's library; its own faults are not reported here.
 */
export function checkTree(
  tree: readonly SourceFile[],
  context: CheckContext,
  library: ParsedLibrary = EMPTY_LIBRARY,
): Checked {
  const files = [...tree].sort((a, b) => (a.path < b.path ? -1 : 1));
  const issues = checkPaths(files);
  // A tree over the limits is not read.
  if (issues.some(({ code }) => code === 'tree/too-large'))
    return { workspace: null, issues: issues.sort(inOrder), urls: [] };
  reader.next();
  const refused = new Set(issues.filter(({ severity }) => severity === 'error').map(({ path }) => path));
  const read = files.filter(({ path }) => !refused.has(path)).flatMap((file) => readTreeFile(file, issues));
  for (const file of read) for (const issue of file.issues) issues.push(issue);
  // Files under library/ of a tree belong to the tree, not to the account's library.
  const own = files.filter(({ path }) => !path.startsWith(LIBRARY));
  const catalog = catalogOf([...own, ...library.files], [...read, ...library.read].sort(byPath));
  for (const issue of checkReferences(catalog, context)) issues.push(issue);
  issues.sort(inOrder);
  const sound = issues.every(({ severity }) => severity !== 'error');
  return { workspace: sound ? compileWorkspace(catalog) : null, issues, urls: notifyUrls(read) };
}

const reader = new Reader();

/** Files of kind `other` may have any bytes. */
function readTreeFile(file: SourceFile, issues: Issue[]): ReadFile[] {
  const place = placeOf(file.path);
  if (place.kind === 'other') return [];
  const read = reader.read(file, place);
  if (read) return [read];
  const message = 'The file is not UTF-8 text.';
  issues.push({
    path: file.path,
    line: 1,
    column: 1,
    code: 'file/not-utf8',
    severity: 'error',
    message,
    hint: 'Save it as UTF-8.',
  });
  return [];
}

function checkReferences(catalog: Catalog, context: CheckContext): Issue[] {
  const lists = new Map<string, Issue[]>();
  const report = reporter(lists);
  const own: Catalog = { ...catalog, read: catalog.read.filter(({ source }) => !source.path.startsWith(LIBRARY)) };
  checkNames(own.read, report);
  checkAgents(own, report);
  checkFlows(own, report);
  checkTools(own, context.openHosts ?? [], report);
  checkLinks(own, context.livePaths, report);
  checkGrants(own, report);
  checkSecretNames(own, context.secrets, report);
  checkModels(own, context.models, report);
  checkEvals(own, report);
  return [...lists.values()].flat().filter(({ path }) => !path.startsWith(LIBRARY));
}

function byPath(a: ReadFile, b: ReadFile): number {
  return a.source.path < b.source.path ? -1 : 1;
}
