import type { Deps } from '../../deps.js';
import {
  knownObjects,
  listRefs,
  MAIN,
  moveRef,
  openRepository,
  type Repository,
  readRef,
  setRefs,
} from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { ensureCommit } from './ensure-commit.js';
import { alignMemory, MEMORY_REF } from './memory-ref.js';
import { loadPacks } from './packs.js';

type Needs = Pick<Deps, 'db' | 'blobs' | 'config'>;

/**
 * Points `main` at the live revision. Does nothing for a deleted workspace, or without a revision. Call it at every
 * access to the repository: it repairs a ref that a crash left behind after the commit of a deploy.
 */
export async function alignMain(deps: Needs, workspaceId: string): Promise<void> {
  await deps.db.transaction(async (sql) => {
    const live = await lockLive(sql, workspaceId);
    if (!live || live.commit === null) return;
    // Only under the lock, since it creates a missing repository, which a delete may have just removed.
    const repository = await openRepository(deps.config.dataDir, workspaceId);
    if ((await readRef(repository, MAIN)) === live.commit) return;
    await ensureCommit(deps, sql, repository, { workspaceId, seq: live.seq, commit: live.commit });
    await moveRef(repository, MAIN, live.commit);
  });
}

/**
 * Opens the repository and aligns its refs with the database: `main` with the live revision, other refs with their rows,
 * the memory ref with history. Null for a deleted workspace. Works for a library's id too.
 */
export async function alignRefs(deps: Needs, workspaceId: string): Promise<Repository | null> {
  const memory = await alignMemory(deps, workspaceId);
  return deps.db.transaction(async (sql) => {
    const live = await lockLive(sql, workspaceId);
    if (!live) return null;
    const repository = await openRepository(deps.config.dataDir, workspaceId);
    if (live.commit !== null) {
      await ensureCommit(deps, sql, repository, { workspaceId, seq: live.seq, commit: live.commit });
    }
    const wanted = await readRefs(sql, workspaceId);
    if (live.commit !== null) wanted.set(MAIN, live.commit);
    if (memory !== null) wanted.set(MEMORY_REF, memory);
    if (isSame(await listRefs(repository), wanted)) return repository;
    const known = await knownObjects(repository, [...wanted.values()]);
    if ([...wanted.values()].some((oid) => !known.has(oid))) await loadPacks(deps, sql, repository, workspaceId);
    await setRefs(repository, wanted).catch(async (error: unknown) => {
      // Another process may have made the same update in the meantime.
      if (!isSame(await listRefs(repository), wanted)) throw error;
    });
    return repository;
  });
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([name, oid]) => b.get(name) === oid);
}

/**
 * Reads the live revision under a share lock, so that no deploy can change it before the ref is moved. Undefined when
 * the workspace does not exist; `commit` is null before the first deploy.
 */
async function lockLive(
  sql: Sql,
  id: string,
): Promise<{ readonly seq: number; readonly commit: string | null } | undefined> {
  const library = id.startsWith('library.');
  // A separate statement: the one that waited for the lock has an older snapshot.
  await sql.query({
    name: `lock-live-${library}`,
    text: library
      ? `SELECT 1 FROM library WHERE 'library.' || tenant_id = $1 FOR SHARE`
      : 'SELECT 1 FROM workspace WHERE id = $1 FOR SHARE',
    values: [id],
  });
  const [live] = await sql.query<{ seq: number; commit: string | null }>({
    name: `live-commit-${library}`,
    text: `SELECT h.live_seq AS seq, r.git_commit AS commit
      FROM ${library ? `(SELECT 'library.' || tenant_id AS id, live_seq FROM library) h` : 'workspace h'}
      LEFT JOIN revision r ON r.workspace_id = h.id AND r.seq = h.live_seq WHERE h.id = $1`,
    values: [id],
  });
  return live;
}

async function readRefs(sql: Sql, workspaceId: string): Promise<Map<string, string>> {
  const rows = await sql.query<{ name: string; oid: string }>({
    name: 'refs-of',
    text: 'SELECT name, oid FROM git_ref WHERE workspace_id = $1',
    values: [workspaceId],
  });
  return new Map(rows.map(({ name, oid }) => [name, oid]));
}
