import { foldPath } from '../../format/index.js';
import { blobId } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { newId } from '../../shared/ids.js';
import { pathFault } from '../../shared/path-fault.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import { readBlobs } from '../workspaces/live-tree.js';
import { writeChange } from '../workspaces/write-change.js';

/** The limits of all memory of a workspace, the same as those of a tree. */
const MAX_FILES = 2_000;

const MAX_FILE_BYTES = 16 * 1_048_576;

const full = { code: 'tree/too-large' };

interface MemoryWrite {
  readonly workspaceId: string;
  readonly runId: string;
  /** The agent's name. */
  readonly agent: string;
  /** Under `memory/`. The tool checks which folder this agent may write. */
  readonly path: string;
  /** Makes the new content from the current one; null when it stays the same. Throws a Refusal to refuse the write. */
  readonly compose: (current: Uint8Array | null) => Uint8Array | null;
  /** The sha that the run has read; null when the file must not exist. */
  readonly seen: string | null;
  /** Throws when this attempt no longer holds its lane. */
  readonly guard: (sql: Sql) => Promise<void>;
}

/** `changed` is false when the file already had these bytes. `conflict` returns the current sha; null when the file does not exist. */
export type MemoryOutcome =
  | { readonly kind: 'written'; readonly sha: string; readonly changed: boolean }
  | { readonly kind: 'conflict'; readonly sha: string | null };

/** A file is at most this long: format.md, section 2. */
const MAX_BYTES = 256 * 1024;

type Change = MemoryWrite & { readonly content: Uint8Array; readonly sha: string };

/**
 * Writes a memory file for an agent, as compare-and-set with the version that the run has read. Call it in a transaction
 * of its own. The file is live at once and replaces the revision's file of this path. History and the run's
 * `memory_writes` record it in the same transaction.
 */
export async function writeMemory(sql: Sql, input: MemoryWrite): Promise<MemoryOutcome> {
  checkMemoryPath(input.path);
  await input.guard(sql);
  const current = await lockMemory(sql, input);
  const before = current.sha === null ? null : await readContent(sql, input.workspaceId, current.sha);
  const content = input.compose(before);
  const sha = content === null ? current.sha : blobId(content);
  // Writing the same content again succeeds, also for a retry after a crash.
  if (content === null || sha === null || sha === current.sha) {
    return { kind: 'written', sha: current.sha ?? '', changed: false };
  }
  if (current.sha !== input.seen) return { kind: 'conflict', sha: current.sha };
  checkSize(content);
  const change = { ...input, content, sha };
  const room: Room = { bytes: content.byteLength - (before?.byteLength ?? 0), isNew: current.sha === null };
  if (room.isNew) await lockPaths(sql, input.workspaceId);
  await checkRoom(sql, input, room);
  await storeBlob(sql, change);
  if (!(await storeMemory(sql, change, current.overlay))) {
    return { kind: 'conflict', sha: (await readOverlay(sql, input)) ?? null };
  }
  await recordChange(sql, change, current.sha);
  await noteWrite(sql, input);
  return { kind: 'written', sha, changed: true };
}

function checkMemoryPath(path: string): void {
  const fault = pathFault(path) ?? (path.startsWith('memory/') ? null : 'is not under memory/');
  if (fault !== null) throw new Refusal('refused', `the path ${fault}`, { code: 'file/bad-path' });
}

function checkSize({ byteLength }: Uint8Array): void {
  if (byteLength <= MAX_BYTES) return;
  throw new Refusal('too_large', 'a memory file holds at most 256 KiB; split it', { code: 'file/too-large' });
}

async function readContent(sql: Sql, workspaceId: string, sha: string): Promise<Uint8Array> {
  return (await readBlobs(sql, workspaceId, new Set([sha]))).get(sha) ?? new Uint8Array();
}

/**
 * Locks and reads the current file. The share lock on the workspace stops deploys from changing the revision; two agents
 * wait for each other at the file's row, or at its insertion.
 */
async function lockMemory(
  sql: Sql,
  { workspaceId, path }: MemoryWrite,
): Promise<{ readonly sha: string | null; readonly overlay: boolean }> {
  const [workspace] = await sql.query<{ seq: number }>({
    name: 'lock-memory-workspace',
    text: 'SELECT live_seq AS seq FROM workspace WHERE id = $1 FOR SHARE',
    values: [workspaceId],
  });
  if (!workspace) throw notFound('workspace');
  const [file] = await sql.query<{ sha: string }>({
    name: 'lock-memory-file',
    text: 'SELECT sha FROM memory_file WHERE workspace_id = $1 AND path = $2 FOR UPDATE',
    values: [workspaceId, path],
  });
  if (file) return { sha: file.sha, overlay: true };
  // A separate statement: the one that waited for the lock has an older snapshot.
  const [source] = await sql.query<{ sha: string | null }>({
    name: 'memory-of-revision',
    text: `SELECT manifest->$3::text->>'sha' AS sha FROM revision WHERE workspace_id = $1 AND seq = $2`,
    values: [workspaceId, workspace.seq, path],
  });
  return { sha: source?.sha ?? null, overlay: false };
}

async function storeBlob(sql: Sql, { workspaceId, sha, content }: Change): Promise<void> {
  await sql.query({
    name: 'insert-memory-blob',
    text: 'INSERT INTO blob (workspace_id, sha, size, content) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
    values: [workspaceId, sha, content.byteLength, Buffer.from(content)],
  });
}

/** False when another agent has created the file in the meantime. */
async function storeMemory(
  sql: Sql,
  { workspaceId, path, content, agent, runId, sha }: Change,
  overlay: boolean,
): Promise<boolean> {
  const update = `UPDATE memory_file SET sha = $3, size = $4, agent = $5, run_id = $6, version = version + 1, updated_at = now()
    WHERE workspace_id = $1 AND path = $2 RETURNING version`;
  const insert = `INSERT INTO memory_file (workspace_id, path, sha, size, agent, run_id) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT DO NOTHING RETURNING version`;
  const rows = await sql.query({
    name: overlay ? 'update-memory' : 'insert-memory',
    text: overlay ? update : insert,
    values: [workspaceId, path, sha, content.byteLength, agent, runId],
  });
  return rows.length === 1;
}

async function readOverlay(sql: Sql, { workspaceId, path }: MemoryWrite): Promise<string | undefined> {
  const [row] = await sql.query<{ sha: string }>({
    name: 'read-memory-sha',
    text: 'SELECT sha FROM memory_file WHERE workspace_id = $1 AND path = $2',
    values: [workspaceId, path],
  });
  return row?.sha;
}

async function recordChange(sql: Sql, change: Change, before: string | null): Promise<void> {
  const { workspaceId, path, agent, runId, sha } = change;
  await writeChange(sql, {
    workspaceId,
    id: newId(),
    at: new Date(),
    via: 'agent',
    by: { kind: 'agent', id: agent, label: agent },
    message: `${agent} wrote ${path}`,
    before: new Map(before === null ? [] : [[path, { sha: before }]]),
    after: new Map([[path, { sha }]]),
    revisionSeq: null,
    runId,
  });
}

/** In the same transaction as the write, since the record of the call may be lost in a crash. */
async function noteWrite(sql: Sql, { runId, path }: MemoryWrite): Promise<void> {
  await sql.query({
    name: 'note-memory-write',
    text: `UPDATE run SET memory_writes = array_append(coalesce(memory_writes, '{}'), $2)
      WHERE id = $1 AND NOT $2 = ANY(coalesce(memory_writes, '{}'))`,
    values: [runId, path],
  });
}

interface Room {
  /** The number of bytes that the write adds. */
  readonly bytes: number;
  readonly isNew: boolean;
}

/** Serializes the creation of memory files until the transaction ends, since two new paths may differ in case only. */
async function lockPaths(sql: Sql, workspaceId: string): Promise<void> {
  await sql.query({
    name: 'lock-memory-paths',
    text: `SELECT pg_advisory_xact_lock(hashtextextended('memory/' || $1, 0))`,
    values: [workspaceId],
  });
}

/** Refuses a file over the limits, or whose path differs from another in case only, or is a folder of another. */
async function checkRoom(
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

/** True for equal paths, and when one path is a folder of the other. */
function isInTheWay(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`);
}
