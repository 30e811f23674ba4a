import type { GitObject, Repository } from './repository.js';
import { GitFailed, runGit } from './run-git.js';

export interface TreeBudget {
  /** The maximum number of files. The same number of folders is allowed in addition. */
  readonly maxFiles: number;
  /** The maximum size of all files together. */
  readonly maxBytes: number;
}

export interface ListedFile {
  readonly path: string;
  readonly sha: string;
  readonly size: number;
  readonly executable: boolean;
}

/** Why a whole tree is refused, with the path. */
export interface TreeFault {
  readonly path: string;
  readonly kind: 'symlink' | 'submodule' | 'encoding' | 'too-large';
  readonly message: string;
}

export interface TreeListing {
  readonly files: readonly ListedFile[];
  readonly faults: readonly TreeFault[];
}

/** A workspace path has at most 1,024 bytes. Longer ones are read up to this length, to name them in the error. */
const MAX_LINE = 8_192;

/**
 * Every file of a commit's tree. Ten tree objects can describe 10^8 paths, even of empty folders only, so git is killed
 * once its output exceeds the budget. The checker validates the paths.
 */
export async function listTree(repository: Repository, commit: string, budget: TreeBudget): Promise<TreeListing> {
  const most = budget.maxFiles * 2;
  const { stdout, cut } = await runGit(
    repository,
    ['ls-tree', '-r', '-t', '-z', '--long', '--full-tree', '--end-of-options', commit],
    { maxBytes: most * 320, limits: { cpuSeconds: 10 } },
  );
  const lines = splitAtNul(stdout);
  if (cut || lines.length > most) return { files: [], faults: [tooLarge(budget)] };
  const files: ListedFile[] = [];
  const faults: TreeFault[] = [];
  for (const line of lines) {
    const entry = readEntry(line);
    if ('kind' in entry) faults.push(entry);
    else if (entry.sha !== '') files.push(entry);
  }
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (files.length > budget.maxFiles || bytes > budget.maxBytes) faults.push(tooLarge(budget));
  return { files, faults };
}

const MAX_PATHS_BYTES = 16 * 1024 * 1024;

/**
 * Whether a commit's tree has too many paths to walk: more than some hundred thousand. Only the newest commit of a push
 * was listed when it arrived, so each comparison must first check older commits for 10^8 paths.
 */
export async function isHugeTree(repository: Repository, commit: string): Promise<boolean> {
  const args = ['ls-tree', '-r', '-t', '-z', '--name-only', '--full-tree', '--end-of-options', commit];
  try {
    return (await runGit(repository, args, { maxBytes: MAX_PATHS_BYTES, limits: { cpuSeconds: 10 } })).cut;
  } catch (error) {
    if (error instanceof GitFailed && error.isOverLimits) return true;
    throw error;
  }
}

function splitAtNul(output: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < output.byteLength; ) {
    const found = output.indexOf(0, start);
    const end = found < 0 ? output.byteLength : found;
    lines.push(output.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

const KINDS = {
  '120000': { kind: 'symlink', message: 'is a symbolic link; put the file itself there' },
  '160000': { kind: 'submodule', message: 'is a submodule; put its files there' },
} as const;

/** Parses `<mode> <type> <sha> <size>\t<path>`. A folder gets an empty sha, since only files are kept. */
function readEntry(line: Buffer): ListedFile | TreeFault {
  const tab = line.indexOf(9);
  const [mode = '', type, sha = '', size = '0'] = line.subarray(0, tab).toString('latin1').split(/ +/);
  const raw = line.subarray(tab + 1);
  const path = raw.subarray(0, MAX_LINE).toString('utf8');
  if (raw.byteLength <= MAX_LINE && !Buffer.from(path).equals(raw))
    return { path, kind: 'encoding', message: 'is not UTF-8' };
  if (mode === '120000' || mode === '160000') return { path, ...KINDS[mode] };
  if (type === 'tree') return { path, sha: '', size: 0, executable: false };
  return { path, sha, size: Number(size), executable: mode === '100755' };
}

function tooLarge({ maxFiles, maxBytes }: TreeBudget): TreeFault {
  const message = `The tree has more than ${maxFiles} files, more folders than that, or more than ${maxBytes} bytes.`;
  return { path: '', kind: 'too-large', message };
}

/** Reads blobs by id. Throws when one is missing, or when together they exceed `maxBytes`. */
export async function readObjects(
  repository: Repository,
  shas: Iterable<string>,
  maxBytes: number,
): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const wanted: string[] = [];
  for (const sha of new Set(shas)) {
    const known = repository.objects?.get(sha);
    if (known?.type === 'blob') found.set(sha, known.content);
    else wanted.push(sha);
  }
  if (wanted.length === 0) return found;
  const { stdout, cut } = await runGit(repository, ['cat-file', '--batch', '--buffer'], {
    input: wanted.map((sha) => `${sha}\n`).join(''),
    maxBytes: maxBytes + wanted.length * 64,
  });
  if (cut) throw new Error(`the objects asked for are over ${maxBytes} bytes`);
  const objects = readBatch(stdout);
  for (const sha of wanted) {
    const object = objects.get(sha);
    if (object?.type !== 'blob') throw new Error(`blob ${sha} does not exist`);
    found.set(sha, object.content);
  }
  return found;
}

/** The paths of a commit's files, without checks: only for commits that the service has made. */
export async function readTreePaths(repository: Repository, commit: string): Promise<readonly string[]> {
  const args = ['ls-tree', '-r', '-z', '--name-only', '--full-tree', '--end-of-options', commit];
  const { stdout } = await runGit(repository, args);
  return splitAtNul(stdout).map((path) => path.toString('utf8'));
}

/** Parses the output of `git cat-file --batch`: for each object `<id> <type> <size>`, the bytes and a line feed. */
export function readBatch(batch: Buffer): Map<string, GitObject> {
  const objects = new Map<string, GitObject>();
  for (let at = 0; at < batch.byteLength; ) {
    const end = batch.indexOf(10, at);
    const [id = '', type = '', size] = batch.subarray(at, end).toString('latin1').split(' ');
    if (size === undefined) throw new Error(`git has no object ${id}: ${type}`);
    at = end + 1 + Number(size) + 1;
    objects.set(id, { type, content: batch.subarray(end + 1, at - 1) });
  }
  return objects;
}
