import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import { isAncestor, type Repository } from '../../git/index.js';
import { endPending, readPending } from './pending-rows.js';

interface NewMain {
  readonly workspaceId: string;
  /** The commit that main moves to. */
  readonly commit: string;
  /** Who pushes it; null where main moves otherwise. A pusher who pushes again has dealt with the refused push. */
  readonly pusher: string | null;
}

/** What ends a refused push when main moves to a commit that settles it, for the transaction that moves main; null for none. */
export async function prepareEndOfRefused(
  deps: Pick<Deps, 'db'>,
  repository: Repository,
  { workspaceId, commit, pusher }: NewMain,
): Promise<((sql: Sql) => Promise<unknown>) | null> {
  const pending = await readPending(deps.db, workspaceId);
  if (!pending?.isRefused) return null;
  const isSettled =
    pending.caller.actor.id === pusher || (await isAncestor(repository, pending.oid, commit).catch(() => false));
  return isSettled ? (sql) => endPending(sql, pending) : null;
}
