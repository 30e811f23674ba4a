import { insertRefusal, writeChange } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import type { Issue } from '../../format/index.js';
import { audit } from '../../people/index.js';
import { newId } from '../../shared/ids.js';
import type { Refusal } from '../../shared/refusal.js';
import { markRefused, PENDING, type PendingPush } from './pending-rows.js';

/** How many paths a reason names. */
const NAMED = 5;

/**
 * Marks the pending push as refused, with its reason: an entry in history and in the audit,
 * and a notification to its pusher, all in one transaction. A retry by hand only updates the reason, since its caller
 * gets the refusal. False when another push took its place.
 */
export async function refusePending(deps: Deps, pending: PendingPush, refusal: Refusal): Promise<boolean> {
  const { workspaceId, workspace, oid, caller, isRefused } = pending;
  const { reason, paths } = describeRefusal(refusal);
  return deps.db.transaction(async (sql) => {
    if (!(await markRefused(sql, pending, reason))) return false;
    if (isRefused) return true;
    await audit(sql, caller, 'git.push.refused', workspace, { ref: PENDING, commit: oid, reason });
    await writeChange(sql, {
      workspaceId,
      id: newId(),
      at: new Date(deps.clock.now()),
      via: 'push',
      by: caller.actor,
      message: `Refused the push ${oid.slice(0, 12)}: ${reason}`,
      before: new Map(),
      after: new Map(),
      revisionSeq: null,
      runId: null,
      givenId: oid,
      refused: { reason, paths },
    });
    await insertRefusal(sql, caller, { workspace, via: 'push', reason: refusal.message, toPusher: true });
    return true;
  });
}

function describeRefusal({ message, details }: Refusal): {
  readonly reason: string;
  readonly paths: readonly string[];
} {
  const { code, paths, issues } = details as {
    readonly code?: string;
    readonly paths?: readonly string[];
    readonly issues?: readonly Issue[];
  };
  if (code === 'push/conflict' && paths) return { reason: `conflicts in ${listPaths(paths)}`, paths };
  const faulty = [...new Set((issues ?? []).filter(({ severity }) => severity === 'error').map(({ path }) => path))];
  if (faulty.length === 0) return { reason: message, paths: [] };
  return { reason: `has errors in ${listPaths(faulty.map((path) => path || 'the tree'))}`, paths: faulty };
}

function listPaths(paths: readonly string[]): string {
  const more = paths.length - NAMED;
  return `${paths.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
