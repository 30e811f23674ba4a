import { deleteRef, refusedTree, setRef } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { foldPath, type Issue } from '../../format/index.js';
import { MAIN, type RefCommand, runGit, unwritablePaths } from '../../git/index.js';
import { audit, findWorkspace } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import { planBranch, pushBranch } from './push-branch.js';
import { issueLines, type PlanRef, type PushContext, type RefPlan, type UpdateRef } from './push-context.js';
import { pushLibraryMain } from './push-library-main.js';
import { planMain, pushMain } from './push-main.js';
import { readPushedTree } from './pushed-tree.js';
import { raisePush } from './raise-push.js';
import type { Outcome } from './report.js';

/**
 * Stores a tag. Its tree need not pass the deploy checks, but must be safe to check out: no links, no invalid paths.
 */
const pushTag: UpdateRef = async (deps, context, command) => {
  const plan = await planTag(deps, context, command);
  if (command.new !== null) await context.pack.store();
  await deps.db.transaction((sql) => plan.apply(sql, 'check-again'));
  return plan.done();
};

interface RefKind {
  readonly update: UpdateRef;
  readonly plan: PlanRef;
}

const KINDS = {
  main: { update: pushMain, plan: planMain },
  branch: { update: pushBranch, plan: planBranch },
  tag: { update: pushTag, plan: planTag },
} as const satisfies Record<string, RefKind>;

/** Moves one ref by the rules of its kind. A refusal becomes its outcome, and the issues are printed to the client. */
export async function updateRef(deps: Deps, context: PushContext, command: RefCommand): Promise<Outcome> {
  try {
    const reason = await faultOf(context, command);
    if (reason !== null) return { kind: 'no', reason };
    const update = context.remote.isLibrary ? pushLibraryMain : kindOf(command.ref).update;
    return await update(deps, context, command);
  } catch (error) {
    return refusedOutcome(context, error);
  }
}

/** Reads and checks the new commit of a workspace's ref without moving the ref. Throws a refusal. */
export async function planRef(deps: Deps, context: PushContext, command: RefCommand): Promise<RefPlan | Outcome> {
  const reason = await faultOf(context, command);
  return reason === null ? kindOf(command.ref).plan(deps, context, command) : { kind: 'no', reason };
}

/** The outcome of a refused ref; prints the issues to the client. Rethrows what is not a refusal. */
export function refusedOutcome({ say }: Pick<PushContext, 'say'>, error: unknown): Outcome {
  // The caller reports an unavailable service like any other failure.
  if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
  const { issues } = error.details as { readonly issues?: readonly Issue[] };
  say(...issueLines(issues ?? []));
  return { kind: 'no', reason: shortReason(error, issues ?? []) };
}

/** `pushMain` checks the objects itself, since a small push needs no git process for it. */
async function faultOf(context: PushContext, command: RefCommand): Promise<string | null> {
  const isMain = command.ref === MAIN && !context.remote.isLibrary;
  return isMain ? null : context.faultOf(command);
}

function kindOf(ref: string): RefKind {
  if (ref === MAIN) return KINDS.main;
  return ref.startsWith('refs/heads/') ? KINDS.branch : KINDS.tag;
}

function shortReason({ message }: Refusal, issues: readonly Issue[]): string {
  const errors = issues.filter(({ severity }) => severity === 'error').length;
  if (errors === 0) return message;
  return `the tree has ${errors === 1 ? 'one error' : `${errors} errors`}, so nothing was applied`;
}

async function planTag(
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
