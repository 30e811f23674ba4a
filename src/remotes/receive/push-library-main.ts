import { pushLibrary, readLiveLibrary, refusedTree } from '../../content/index.js';
import type { Issue } from '../../format/index.js';
import { MAIN } from '../../git/index.js';
import { Refusal } from '../../shared/refusal.js';
import { comesAfter, NOT_FORWARD, requireNewest } from './propose-commit.js';
import { issueLines, type UpdateRef } from './push-context.js';
import { readPushedTree } from './pushed-tree.js';
import type { Outcome } from './report.js';

/**
 * A push to the library's `main` replaces the library by its newest commit, checked by itself and with every workspace.
 * A library has no other branches and no tags, since it has no previews.
 */
export const pushLibraryMain: UpdateRef = async (deps, { remote, inside, pack, say }, command) => {
  if (command.ref !== MAIN) return LIBRARY_HAS_ONLY_MAIN;
  const id = command.new ?? '';
  const { caller } = remote;
  requireNewest(await readLiveLibrary(deps.db, caller.tenant), command.old);
  const tree = await readPushedTree(inside, id);
  if (!(await comesAfter(inside, tree, command.old))) return NOT_FORWARD;
  if (tree.issues.length > 0) throw refusedTree('the tree', tree.issues);
  await pack.store();
  try {
    const { commit, files, message } = tree;
    const { issues, workspaces } = await pushLibrary(deps, caller, {
      ...{ commit, files, message, inTransaction: pack.link },
      requireNewest: (gitCommit) => requireNewest({ gitCommit }, command.old),
    });
    const where = workspaces.length === 0 ? '' : `; new runs go by it in ${workspaces.join(', ')}`;
    say(...issueLines(issues), `The library is live at ${id.slice(0, 12)}${where}.`);
    return { kind: 'ok' };
  } catch (error) {
    if (error instanceof Refusal) say(...brokenLines(error));
    throw error;
  }
};

export const LIBRARY_HAS_ONLY_MAIN: Outcome = {
  kind: 'no',
  reason: 'the library has one branch, main, and no tags: push to main',
};

/** The issues in the workspaces that the push would break, each line prefixed with the workspace. */
function brokenLines({ details }: Refusal): readonly string[] {
  const { breaks = [] } = details as { breaks?: readonly { workspace: string; issues: readonly Issue[] }[] };
  return breaks.flatMap(({ workspace, issues }) => issueLines(issues).map((line) => `${workspace}: ${line}`));
}
