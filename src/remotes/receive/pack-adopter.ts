import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import { adoptPack, packIn, type Quarantine, type Repository } from '../../git/index.js';
import { failpoint } from '../../shared/failpoint.js';
import { dropPack, linkPack, recordLoadedPack, type StoredPack, storePack } from '../../workspaces/index.js';
import type { Remote } from '../remote.js';

/** The one pack of a push, whose refs may be several: kept when the first of them is found to be good. */
export interface PushPack {
  /** Keeps the pack in the object store, and its objects in the repository. Before the transaction. */
  keep(): Promise<void>;
  /** Makes it part of the history, in the transaction of a ref that needs it. */
  take(sql: Sql): Promise<void>;
  /** After the last ref: a pack that no transaction took is given up. */
  settle(): Promise<void>;
}

export function createPushPack(
  deps: Deps,
  {
    remote,
    repository,
    quarantine,
  }: { readonly remote: Remote; readonly repository: Repository; readonly quarantine: Quarantine },
): PushPack {
  let kept: Promise<StoredPack | null> | null = null;
  const store = async (): Promise<StoredPack | null> => {
    const pack = await packIn(quarantine);
    if (!pack) return null;
    const stored = await storePack(deps, remote.id, pack);
    failpoint('pack-stored');
    await adoptPack(repository, pack);
    return stored;
  };
  return {
    keep: async () => {
      kept ??= store();
      await kept;
    },
    take: async (sql) => {
      const pack = await kept;
      if (pack) await linkPack(sql, remote.id, pack.id);
    },
    settle: async () => {
      const pack = await kept?.catch(() => null);
      if (!pack) return;
      await recordLoadedPack(deps.db, repository, pack.id);
      await dropPack(deps, pack);
    },
  };
}
