import { dropPack, linkPack, recordLoadedPack, type StoredPack, storePack } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { adoptPack, packIn, type Quarantine, type Repository } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import type { Remote } from '../remote.js';

/** The pack of a push, shared by all its refs. It is stored when the first of them passes its checks. */
export interface PushPack {
  /** Stores the pack in the object store, and its objects in the repository. Call it before the transaction. */
  store(): Promise<void>;
  /** Makes the pack part of the history, in the transaction of a ref that needs it. */
  link(sql: Sql): Promise<void>;
  /** After the last ref: deletes a pack that no transaction has linked. */
  release(): Promise<void>;
}

export function createPushPack(
  deps: Deps,
  {
    remote,
    repository,
    quarantine,
  }: { readonly remote: Remote; readonly repository: Repository; readonly quarantine: Quarantine },
): PushPack {
  let stored: Promise<StoredPack | null> | null = null;
  const storeOnce = async (): Promise<StoredPack | null> => {
    const pack = await packIn(quarantine);
    if (!pack) return null;
    const row = await storePack(deps, remote.id, pack);
    failpoint('pack-stored');
    await adoptPack(repository, pack);
    return row;
  };
  return {
    store: async () => {
      stored ??= storeOnce();
      await stored;
    },
    link: async (sql) => {
      const pack = await stored;
      if (pack) await linkPack(sql, remote.id, pack.id);
    },
    release: async () => {
      const pack = await stored?.catch(() => null);
      if (!pack) return;
      await recordLoadedPack(deps.db, repository, pack.id);
      await dropPack(deps, pack);
    },
  };
}
