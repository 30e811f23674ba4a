import { foldPath } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';

/** The limits of all memory of a workspace, the same as those of a tree. */
const MAX_FILES = 2_000;
const MAX_FILE_BYTES = 16 * 1_048_576;

export interface Room {
  /** The number of bytes that the write adds. */
  readonly bytes: number;
  readonly isNew: boolean;
}

/** Serializes the creation of memory files until the transaction ends, since two new paths may differ in case only. */
export async function lockPaths(sql: Sql, workspaceId: string): Promise<void> {
  await sql.query({
    name: 'lock-memory-paths',
    text: `SELECT pg_advisory_xact_lock(hashtextextended('memory/' || $1, 0))`,
    values: [workspaceId],
  });
}

/** Refuses a file over the limits, or whose path differs from another in case only, or is a folder of another. */
export async function checkRoom(
  sql: Sql,
  { workspaceId, path }: { readonly workspaceId: string; readonly path: string },
  { bytes, isNew }: Room,
): Promise<void> {
  const files = await sql.query<{ path: string; size: number }>({
    name: 'memory-paths',
    text: `SELECT f.key AS path, (f.value->>'size')::int AS size
        FROM workspace w JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq, jsonb_each(r.manifest) f
        WHERE w.id = $1 AND starts_with(f.key, 'memory/')
          AND NOT EXISTS (SELECT 1 FROM memory_file m WHERE m.workspace_id = w.id AND m.path = f.key)
      UNION ALL SELECT path, size FROM memory_file WHERE workspace_id = $1`,
    values: [workspaceId],
  });
  const used = files.reduce((sum, file) => sum + file.size, 0);
  if (bytes > 0 && used + bytes > MAX_FILE_BYTES) {
    throw new Refusal('too_large', 'the workspace’s memory holds at most 16 MiB: shorten what is there', full);
  }
  if (!isNew) return;
  if (files.length >= MAX_FILES) {
    throw new Refusal('too_large', `the workspace’s memory holds at most ${MAX_FILES} files: add to one of them`, full);
  }
  const others = files.filter((file) => file.path !== path);
  const other = others.find((file) => isInTheWay(foldPath(path), foldPath(file.path)))?.path;
  if (other !== undefined) {
    throw new Refusal('refused', `${path} cannot be beside ${other}: write that one, or take another name`, {
      code: 'tree/case-twin',
    });
  }
}

const full = { code: 'tree/too-large' };

/** True for equal paths, and when one path is a folder of the other. */
function isInTheWay(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`);
}
