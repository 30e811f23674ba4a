import type { Deps } from '../../deps.js';
import { MAIN, type RefCommand } from '../../git/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Issue } from '../../workspace/index.js';
import type { Remote } from '../remote.js';
import { pushBranch } from './push-branch.js';
import { issueLines, type PushContext, type UpdateRef } from './push-context.js';
import { pushMain } from './push-main.js';
import { pushShelf } from './push-shelf.js';
import { pushTag } from './push-tag.js';
import type { Outcome } from './report.js';

/** Moves one ref by the rules of what it is. A refusal is its outcome, with all issues as words for the person. */
export async function updateRef(deps: Deps, context: PushContext, command: RefCommand): Promise<Outcome> {
  try {
    // A small push to main needs no process of git to know that.
    const isMain = command.ref === MAIN && !context.remote.isLibrary;
    const reason = isMain ? null : await context.faultOf(command);
    if (reason !== null) return { kind: 'no', reason };
    return await kindOf(context.remote, command.ref)(deps, context, command);
  } catch (error) {
    // What is away is told where what breaks off is.
    if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
    const { issues } = error.details as { readonly issues?: readonly Issue[] };
    context.say(...issueLines(issues ?? []));
    return { kind: 'no', reason: shortReason(error, issues ?? []) };
  }
}

function kindOf({ isLibrary }: Remote, ref: string): UpdateRef {
  if (isLibrary) return pushShelf;
  if (ref === MAIN) return pushMain;
  return ref.startsWith('refs/heads/') ? pushBranch : pushTag;
}

function shortReason({ message }: Refusal, issues: readonly Issue[]): string {
  const errors = issues.filter(({ severity }) => severity === 'error').length;
  if (errors === 0) return message;
  return `the tree has ${errors === 1 ? 'one error' : `${errors} errors`}, so nothing was applied`;
}
