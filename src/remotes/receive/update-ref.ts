import type { Deps } from '../../deps.js';
import type { Issue } from '../../format/index.js';
import { MAIN, type RefCommand } from '../../git/index.js';
import { Refusal } from '../../shared/refusal.js';
import { planBranch, pushBranch } from './push-branch.js';
import { issueLines, type PlanRef, type PushContext, type RefPlan, type UpdateRef } from './push-context.js';
import { pushLibraryMain } from './push-library-main.js';
import { planMain, pushMain } from './push-main.js';
import { planTag, pushTag } from './push-tag.js';
import type { Outcome } from './report.js';

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
