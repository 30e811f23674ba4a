import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { type HeldBlob, holdBlob, sha256Hex, withHeldBlobs } from '../../platform/storage/index.js';
import type { KeptFile, ToolContext } from '../contract.js';
import { isUnchanged, type KeptState, readKept, writeKept } from './kept-state.js';
import { type LaneFile, readLaneFile } from './lane-files.js';
import { MAX_KEPT_FILE, MAX_KEPT_TOTAL } from './lane-limits.js';
import { listLaneFiles } from './list-lane-files.js';
import { mediaType } from './media-type.js';

type KeepDeps = Pick<Deps, 'db' | 'blobs' | 'log'>;

/** A file of the lane as it will be stored. */
interface Kept extends KeptFile {
  /** Its path in the lane: `outputs/x` or `files/x`. */
  readonly local: string;
  /** The same path with secrets redacted, under which it is archived. */
  readonly shown: string;
  readonly ctimeMs: number;
  readonly laneSize: number;
  readonly held: HeldBlob;
}

/**
 * At a step's end: stores what changed under outputs/ and files/ of the lane. Each file of outputs/ is archived to the
 * run and indexed as `outputs/<agent>/x`, each of files/ is indexed by its own path; an eval's run only archives.
 * Links, pipes, devices, sockets and files over 64 MiB are ignored and reported to `onIgnored`.
 */
export async function keepStep(
  deps: KeepDeps,
  context: ToolContext,
  onIgnored: (path: string, why: string) => void = () => undefined,
): Promise<readonly KeptFile[]> {
  const { folder, run } = context;
  const known = await readKept(folder.root);
  const listing = await listLaneFiles(folder.work, ['outputs', 'files']);
  const ignore = (path: string, why: string) => {
    deps.log.warn({ runId: run.id, path, why }, 'ignored a file of a program');
    onIgnored(path, why);
  };
  for (const { path, why } of listing.ignored) ignore(path, why);
  const changed = listing.files.filter(({ path, stat }) => !isUnchanged(known.get(path), stat));
  const kept = await storeChanged(deps, context, { paths: changed.map(({ path }) => path), known, ignore });
  if (kept.length === 0) return [];
  await withHeldBlobs(
    deps,
    kept.map(({ held }) => held),
    (sql) => index(sql, context, kept),
  );
  for (const { local, sha, laneSize, ctimeMs } of kept) known.set(local, { sha, size: laneSize, ctimeMs });
  await writeKept(folder.root, known);
  return kept.map(({ path, sha, size }) => ({ path, sha, size }));
}

interface Changes {
  readonly paths: readonly string[];
  readonly known: KeptState;
  readonly ignore: (path: string, why: string) => void;
}

async function storeChanged(deps: KeepDeps, context: ToolContext, changes: Changes): Promise<Kept[]> {
  const kept: Kept[] = [];
  let total = 0;
  for (const path of changes.paths) {
    const file = await readLaneFile(context.folder.work, path, MAX_KEPT_FILE);
    if (file === null) continue;
    if (file.content === null) changes.ignore(path, file.why);
    else if (total + file.content.length > MAX_KEPT_TOTAL) changes.ignore(path, 'the step left more than 512 MiB');
    else {
      total += file.content.length;
      const stored = await storeFile(deps, context, { path, file, knownSha: changes.known.get(path)?.sha });
      if (stored) kept.push(stored);
    }
  }
  return kept;
}

/** Stores a file. Null when its content is unchanged since it was last stored. */
async function storeFile(
  deps: KeepDeps,
  { agent, secrets }: ToolContext,
  { path, file, knownSha }: { readonly path: string; readonly file: LaneFile; readonly knownSha: string | undefined },
): Promise<Kept | null> {
  const hide = secrets.hide();
  const content = hide.bytes(file.content);
  const sha = sha256Hex(content);
  if (sha === knownSha) return null;
  const held = await holdBlob(deps, content, sha);
  // A file name may contain a secret, too.
  const shown = hide.text(path);
  const stored = shown.startsWith('outputs/') ? `outputs/${agent.name}/${shown.slice('outputs/'.length)}` : shown;
  return {
    path: stored,
    shown,
    sha,
    size: content.length,
    local: path,
    ctimeMs: file.stat.ctimeMs,
    laneSize: file.stat.size,
    held,
  };
}

async function index(sql: Sql, context: ToolContext, kept: readonly Kept[]): Promise<void> {
  await context.guard(sql);
  const { run, agent, step } = context;
  const outputs = kept.filter(({ local }) => local.startsWith('outputs/'));
  await sql.query({
    name: 'keep-run-files',
    text: `INSERT INTO run_file (run_id, agent, path, step, sha, size)
      SELECT $1, $2, f.path, $3, f.sha, f.size FROM unnest($4::text[], $5::text[], $6::bigint[]) AS f (path, sha, size)
      ON CONFLICT (run_id, agent, path) DO UPDATE SET step = excluded.step, sha = excluded.sha, size = excluded.size`,
    values: [
      run.id,
      agent.name,
      step.id,
      outputs.map((f) => f.shown),
      outputs.map((f) => f.sha),
      outputs.map((f) => f.size),
    ],
  });
  if (run.mode !== 'eval') await indexStored(sql, context, kept);
}

/** The last writer wins: the lane's transactions order the writes. */
export async function indexStored(sql: Sql, context: ToolContext, files: readonly KeptFile[]): Promise<void> {
  const { run, agent, step } = context;
  await sql.query({
    name: 'keep-storage-entries',
    text: `INSERT INTO storage_entry (workspace_id, path, sha, size, type, written_by)
      SELECT $1, f.path, f.sha, f.size, f.type, $2
      FROM unnest($3::text[], $4::text[], $5::bigint[], $6::text[]) AS f (path, sha, size, type) ORDER BY f.path
      ON CONFLICT (workspace_id, path) DO UPDATE SET sha = excluded.sha, size = excluded.size, type = excluded.type,
        written_by = excluded.written_by, updated_at = now()`,
    values: [
      run.workspaceId,
      JSON.stringify({ kind: 'agent', id: agent.name, label: agent.name, runId: run.id, step: step.id }),
      files.map((f) => f.path),
      files.map((f) => f.sha),
      files.map((f) => f.size),
      files.map((f) => mediaType(f.path)),
    ],
  });
}
