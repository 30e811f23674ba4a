import type { Deps } from '../../deps.js';
import {
  type AppendedCommit,
  appendCommits,
  openRepository,
  type Repository,
  readCommit,
  readRef,
  readTreePaths,
  removeRef,
  repositoryFolder,
} from '../../git/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import type { Actor } from '../../shared/roles.js';
import { type LiveTree, readBlobs } from './live-tree.js';

/** The ref with a commit for each memory write of an agent. It is not a branch, so that no clone has to merge it. */
export const MEMORY_REF = 'refs/service/memory';

/** The limits of one batch, in changes and bytes, and the batches of one call. The next call appends the others. */
const BATCH = 1_000;

const BATCH_BYTES = 16 * 1024 * 1024;

const BATCHES = 20;

interface AgentChange extends Pick<TableRow<'Change'>, 'seq' | 'id' | 'at' | 'via' | 'message' | 'runId'> {
  readonly by: Actor;
  readonly files: readonly { readonly path: string; readonly after: string | null }[];
}

/**
 * Updates the memory ref from history and returns its tip; null when no agent has written. The commits depend on the
 * rows only, so a restored repository, or one on another machine, gets the same ones. A file that a person or a deploy
 * writes or removes leaves the ref: from then on the branch has it.
 */
export async function alignMemory(deps: Pick<Deps, 'db' | 'config'>, workspaceId: string): Promise<string | null> {
  if (!(await hasAgentWrites(deps.db, workspaceId))) return null;
  // Not `openRepository`, which would create a folder for a workspace that is being deleted.
  const repository = { gitdir: repositoryFolder(deps.config.dataDir, workspaceId) };
  let done = (await findPosition(deps.db, repository, workspaceId)).position;
  for (let batch = 0; batch < BATCHES; batch += 1) {
    if ((await readPending(deps.db, workspaceId, done)).length === 0) break;
    done = await appendPending(deps, workspaceId, done);
  }
  return readRef(repository, MEMORY_REF);
}

async function hasAgentWrites(sql: Sql, workspaceId: string): Promise<boolean> {
  const [row] = await sql.query<{ wrote: boolean }>({
    name: 'has-agent-writes',
    text: `SELECT EXISTS (SELECT 1 FROM change WHERE workspace_id = $1 AND via = 'agent') AS wrote FROM workspace WHERE id = $1`,
    values: [workspaceId],
  });
  return row?.wrote ?? false;
}

/**
 * Appends one batch after that change, and returns the last change that is done, since not every change makes a commit.
 * A write gets its number before it commits. Under the workspace's lock all writes with a number have ended, so no
 * write with a smaller number can follow.
 */
async function appendPending(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  workspaceId: string,
  done: bigint,
): Promise<bigint> {
  return db.transaction(async (sql) => {
    const there = await sql.query('SELECT 1 FROM workspace WHERE id = $1 FOR UPDATE', [workspaceId]);
    if (there.length === 0) return done;
    const repository = await openRepository(config.dataDir, workspaceId);
    const { tip, position, isLost } = await findPosition(sql, repository, workspaceId);
    if (isLost) await removeRef(repository, MEMORY_REF);
    const from = !isLost && done > position ? done : position;
    const rows = await fitting(sql, workspaceId, await readPending(sql, workspaceId, from));
    const commits = await commitsOf(sql, repository, { workspaceId, tip, rows });
    if (commits.length > 0) await appendCommits(repository, MEMORY_REF, { tip, commits });
    return rows.at(-1)?.seq ?? from;
  });
}

const MARK = 'Change: ';

interface Position {
  readonly tip: string | null;
  /** The number of the change that made the tip. */
  readonly position: bigint;
  /** The ref exists, but its commit is missing or belongs to no change: the ref is created again. */
  readonly isLost: boolean;
}

/** Finds the position of the ref by the change that its newest commit names. */
async function findPosition(sql: Sql, repository: Repository, workspaceId: string): Promise<Position> {
  const tip = await readRef(repository, MEMORY_REF);
  if (tip === null) return { tip, position: 0n, isLost: false };
  const { message = '' } = (await readCommit(repository, tip)) ?? {};
  const id = message.trimEnd().split('\n').at(-1)?.slice(MARK.length) ?? '';
  const [row] = await sql.query<{ seq: bigint }>({
    name: 'memory-position',
    text: 'SELECT seq FROM change WHERE workspace_id = $1 AND id = $2',
    values: [workspaceId, id],
  });
  return row ? { tip, position: row.seq, isLost: false } : { tip: null, position: 0n, isLost: true };
}

function readPending(sql: Sql, workspaceId: string, after: bigint): Promise<readonly AgentChange[]> {
  return sql.query<AgentChange>({
    name: 'memory-changes',
    text: `SELECT seq, id, at, by, via, message, run_id AS "runId", files FROM change
      WHERE workspace_id = $1 AND seq > $2 AND EXISTS (SELECT 1 FROM unnest(paths) AS path WHERE starts_with(path, 'memory/'))
      ORDER BY seq LIMIT ${BATCH}`,
    values: [workspaceId, after],
  });
}

/** The first of these changes that fit into a batch, at least one. */
async function fitting(sql: Sql, workspaceId: string, rows: readonly AgentChange[]): Promise<readonly AgentChange[]> {
  const sizes = await sql.query<{ sha: string; size: number }>({
    name: 'blob-sizes',
    text: 'SELECT sha, size FROM blob WHERE workspace_id = $1 AND sha = ANY($2)',
    values: [workspaceId, rows.flatMap(writtenBy)],
  });
  const sizeOf = new Map(sizes.map(({ sha, size }) => [sha, size]));
  let bytes = 0;
  return rows.filter((row, index) => {
    for (const sha of writtenBy(row)) bytes += sizeOf.get(sha) ?? 0;
    return index === 0 || bytes <= BATCH_BYTES;
  });
}

/** The blobs of an agent's write. */
function writtenBy({ via, files }: AgentChange): string[] {
  return via === 'agent' ? files.flatMap(({ after }) => after ?? []) : [];
}

async function commitsOf(
  sql: Sql,
  repository: Repository,
  { workspaceId, tip, rows }: { workspaceId: string; tip: string | null; rows: readonly AgentChange[] },
): Promise<readonly AppendedCommit[]> {
  if (rows.length === 0) return [];
  const held = new Set(tip === null ? [] : await readTreePaths(repository, tip));
  const blobs = await readBlobs(sql, workspaceId, rows.flatMap(writtenBy));
  return rows.flatMap((row) => {
    const files = new Map<string, Uint8Array | null>();
    for (const { path, after } of row.files) {
      if (row.via !== 'agent') {
        if (held.delete(path)) files.set(path, null);
      } else if (after !== null) {
        held.add(path);
        files.set(path, blobs.get(after) ?? new Uint8Array());
      }
    }
    return files.size === 0 ? [] : [{ by: row.by, at: row.at, message: messageOf(row), files }];
  });
}

function messageOf({ via, message, runId, id }: AgentChange): string {
  const [subject = ''] = message.split('\n');
  const run = runId === null ? '' : `Run: ${runId}\n`;
  return `${via === 'agent' ? subject : `No longer an agent's: ${subject}`}\n\n${run}${MARK}${id}`;
}

interface Write {
  readonly via: string;
  /** The paths that it writes or removes by name. */
  readonly mentions: ReadonlySet<string>;
}

/**
 * The files of a new revision that count as an agent's memory. A person's edit or move keeps the mark; the first deploy
 * or push that mentions the file removes it.
 */
export function agentMemoryOf(
  { source, memory }: Pick<LiveTree, 'source' | 'memory'>,
  files: ReadonlyMap<string, { readonly sha: string }>,
  { via, mentions }: Write,
): ReadonlySet<string> {
  const isAgents = (path: string): boolean => source.get(path)?.fromAgent === true;
  if (via !== 'edit') return new Set([...files.keys()].filter((path) => isAgents(path) && !mentions.has(path)));
  const edited = (path: string): boolean => isAgents(path) || (mentions.has(path) && memory.has(path));
  const moved = new Set([...mentions].filter((path) => !files.has(path) && edited(path)).map(shaOf));
  const isMoved = (path: string, sha: string): boolean => mentions.has(path) && !source.has(path) && moved.has(sha);
  return new Set(
    [...files]
      .filter(([path, { sha }]) => path.startsWith('memory/') && (edited(path) || isMoved(path, sha)))
      .map(([path]) => path),
  );

  function shaOf(path: string): string | undefined {
    return (memory.get(path) ?? source.get(path))?.sha;
  }
}

/** The live memory files that stay although a deploy of the whole tree does not contain them. */
export function keptMemory(
  { source, memory }: Pick<LiveTree, 'source' | 'memory'>,
  mentioned: ReadonlySet<string>,
): ReadonlyMap<string, { readonly sha: string }> {
  return new Map([...source].filter(([path, { fromAgent }]) => fromAgent && !memory.has(path) && !mentioned.has(path)));
}
