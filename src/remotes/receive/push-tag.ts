import { deleteRef, refusedTree, setRef } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { foldPath, type Issue } from '../../format/index.js';
import { type RefCommand, runGit, unwritablePaths } from '../../git/index.js';
import { audit, findWorkspace } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { PushContext, RefPlan, UpdateRef } from './push-context.js';
import { readPushedTree } from './pushed-tree.js';
import { raisePush } from './raise-push.js';

/** Stores a tag. Its tree need not pass the deploy checks, but must be safe to check out: no links, no invalid paths. */
export const pushTag: UpdateRef = async (deps, context, command) => {
  const plan = await planTag(deps, context, command);
  if (command.new !== null) await context.pack.store();
  await deps.db.transaction((sql) => plan.apply(sql, 'check-again'));
  return plan.done();
};

export async function planTag(
  _deps: Deps,
  { remote, inside, pack }: PushContext,
  { ref: name, old: expect, new: oid }: RefCommand,
): Promise<RefPlan> {
  if (oid !== null) {
    const { stdout } = await runGit(inside, ['rev-parse', '--verify', '--end-of-options', `${oid}^{commit}`]);
    const { issues, files } = await readPushedTree(inside, stdout.toString('latin1').trim());
    const all = [...issues, ...pathIssues(files.map(({ path }) => path))];
    if (all.length > 0) throw refusedTree('the tree of the tag', all);
  }
  const change = { workspaceId: remote.id, name, expect };
  return {
    apply: async (sql) => {
      await findWorkspace(sql, remote.caller, remote.name, 'share');
      if (oid !== null) await pack.link(sql);
      const by = remote.caller.actor;
      const moved = oid === null ? await deleteRef(sql, change) : await setRef(sql, { ...change, oid, by });
      if (!moved) throw new Refusal('conflict', 'it has moved since you fetched it; fetch, then push again');
      await audit(sql, remote.caller, 'git.push', remote.name, { ref: name, before: expect, after: oid });
      await raisePush(sql, remote, { ref: name, before: expect, after: oid });
    },
    done: async () => ({ kind: 'ok' }),
  };
}

function pathIssues(paths: readonly string[]): Issue[] {
  const faults = [...unwritablePaths(paths)].map(([path, message]) => toIssue(path, 'file/bad-path', message));
  const seen = new Map<string, string>();
  for (const path of paths) {
    const twin = seen.get(foldPath(path));
    // A case-insensitive file system can hold only one of them.
    if (twin !== undefined) faults.push(toIssue(path, 'tree/case-twin', `differs from ${twin} in case only`));
    else seen.set(foldPath(path), path);
  }
  return faults;
}

function toIssue(path: string, code: string, message: string): Issue {
  return { path, line: 1, column: 1, code, severity: 'error', message };
}
