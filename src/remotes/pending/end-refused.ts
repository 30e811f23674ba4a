import type { Deps } from '../../deps.js';
import { isAncestor, type Repository } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { endPending, readPending } from './pending-rows.js';

interface NewMain {
  readonly workspaceId: string;
  /** The commit that main moves to. */
  readonly commit: string;
  /** The pusher; null when main moves in another way. A new push of the same person resolves their refused push. */
  readonly pusher: string | null;
}

/**
 * Returns a write that ends the refused push, for the transaction that moves main to a commit that resolves it; else
 * null.
 */
export async function prepareEndOfRefused(
  deps: Pick<Deps, 'db'>,
  repository: Repository,
  { workspaceId, commit, pusher }: NewMain,
): Promise<((sql: Sql) => Promise<unknown>) | null> {
  const pending = await readPending(deps.db, workspaceId);
  if (!pending?.isRefused) return null;
  const isResolved =
    pending.caller.actor.id === pusher || (await isAncestor(repository, pending.oid, commit).catch(() => false));
  return isResolved ? (sql) => endPending(sql, pending) : null;
}
