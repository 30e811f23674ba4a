import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
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
} from '../git/index.js';
import type { Actor } from '../shared/roles.js';
import { readBlobs } from './read-blobs.js';

/** What agents wrote to memory, a commit a write: beside the branches, so that no clone has to merge it. */
export const MEMORY_REF = 'refs/service/memory';

/** Changes and bytes that one batch brings, and the batches of one touch: what is left comes with the next. */
const BATCH = 1_000;
const BATCH_BYTES = 16 * 1024 * 1024;
const BATCHES = 20;

interface ChangeRow {
  readonly seq: bigint;
  readonly id: string;
  readonly at: Date;
  readonly by: Actor;
  readonly via: string;
  readonly message: string;
  readonly runId: string | null;
  readonly files: readonly { readonly path: string; readonly after: string | null }[];
}

/**
 * Brings the ref of agents' memory up to what history says, and answers its tip; null when no agent ever wrote. Its
 * commits follow from the rows alone, so a repository that was lost, or is another machine's, has the same ones again.
 * A file that somebody else writes or removes leaves the ref: the branch has it from then on.
 */
export async function alignMemory(deps: Pick<Deps, 'db' | 'config'>, workspaceId: string): Promise<string | null> {
  if (!(await hasAgentWrites(deps.db, workspaceId))) return null;
  // Not opened, which would make it: a workspace that is being deleted leaves no folder.
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
 * One batch after that change; answers up to which one all is done, since not every change is a commit. A write has its number before it commits; under the lock of the workspace every write that has one has
 * ended, so that none comes in later before what was read.
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
  /** The number of the change that the tip is of. */
  readonly position: bigint;
  /** There is a ref, and its commit is not there, or of no change: it is made anew. */
  readonly isLost: boolean;
}

/** How far the ref is: its newest commit names the change that it is of. */
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

function readPending(sql: Sql, workspaceId: string, after: bigint): Promise<readonly ChangeRow[]> {
  return sql.query<ChangeRow>({
    name: 'memory-changes',
    text: `SELECT seq, id, at, by, via, message, run_id AS "runId", files FROM change
      WHERE workspace_id = $1 AND seq > $2 AND EXISTS (SELECT 1 FROM unnest(paths) AS path WHERE starts_with(path, 'memory/'))
      ORDER BY seq LIMIT ${BATCH}`,
    values: [workspaceId, after],
  });
}

/** The first of these changes, as many as fit into a batch, and one at least. */
async function fitting(sql: Sql, workspaceId: string, rows: readonly ChangeRow[]): Promise<readonly ChangeRow[]> {
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

/** The blobs that an agent's write brings. */
function writtenBy({ via, files }: ChangeRow): string[] {
  return via === 'agent' ? files.flatMap(({ after }) => after ?? []) : [];
}

async function commitsOf(
  sql: Sql,
  repository: Repository,
  { workspaceId, tip, rows }: { workspaceId: string; tip: string | null; rows: readonly ChangeRow[] },
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

function messageOf({ via, message, runId, id }: ChangeRow): string {
  const [subject = ''] = message.split('\n');
  const run = runId === null ? '' : `Run: ${runId}\n`;
  return `${via === 'agent' ? subject : `No longer an agent's: ${subject}`}\n\n${run}${MARK}${id}`;
}
