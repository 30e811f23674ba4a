import { Refusal } from '../shared/refusal.js';
import { isHugeTree } from './read-tree.js';
import type { Repository } from './repository.js';
import { GitFailed, type GitRun, runGit } from './run-git.js';

/** How many commits each of two branches has that the other has not. */
export interface Distance {
  readonly ahead: number;
  readonly behind: number;
}

/** The limits of a git process that compares two commits. Ordinary comparisons use a hundredth of them. */
const LIMITS = { memoryBytes: 1_024 * 1024 * 1024, cpuSeconds: 20 };

/** Runs a git command that compares two commits. Throws a Refusal `refused` when git exceeds its limits. */
export async function runCompare(repository: Repository, args: readonly string[], run: GitRun = {}) {
  try {
    return await runGit(repository, args, { ...run, limits: LIMITS });
  } catch (error) {
    if (!(error instanceof GitFailed) || !error.isOverLimits) throw error;
    const refusal = incomparable('what lies between the two takes more memory or time than a comparison may');
    refusal.cause = error;
    throw refusal;
  }
}

/** The refusal of a comparison; `because` is the reason, as the second half of the sentence. */
export function incomparable(because: string, code = 'repo/incomparable'): Refusal {
  return new Refusal(
    'refused',
    `the two cannot be compared, because ${because}: rebase the branch onto main with git, and push it again`,
    { code },
  );
}

/** Counts the commits that only one side has. Throws a Refusal `refused` when git exceeds its limits. */
export async function countDistance(repository: Repository, base: string, commit: string): Promise<Distance> {
  const args = ['rev-list', '--left-right', '--count', '--end-of-options', `${base}...${commit}`];
  const { stdout } = await runCompare(repository, args);
  const [behind = 0, ahead = 0] = stdout.toString().trim().split('\t').map(Number);
  return { ahead, behind };
}

/** All merge bases of two commits: usually one, several after criss-cross merges, none for unrelated histories. */
export async function mergeBases(repository: Repository, a: string, b: string): Promise<readonly string[]> {
  const args = ['merge-base', '--all', '--end-of-options', a, b];
  const { stdout } = await runCompare(repository, args, { accept: [0, 1] });
  return stdout.toString('latin1').split('\n').filter(Boolean);
}

/** The newest common ancestor; null when there is none. */
export async function mergeBase(repository: Repository, a: string, b: string): Promise<string | null> {
  const { stdout, code } = await runCompare(repository, ['merge-base', '--end-of-options', a, b], { accept: [0, 1] });
  return code === 0 ? stdout.toString().trim() : null;
}

/** The commits that tags point to, by the tag's name without `refs/tags/`; null for a tag of another object. */
export async function readTags(repository: Repository): Promise<ReadonlyMap<string, string | null>> {
  const format = '%(objecttype) %(objectname) %(*objecttype) %(*objectname) %(refname:strip=2)';
  const { stdout } = await runGit(repository, ['for-each-ref', `--format=${format}`, 'refs/tags/']);
  const lines = stdout.toString('utf8').split('\n').filter(Boolean);
  return new Map(
    lines.map((line) => {
      const [type, oid = '', innerType, innerOid = '', ...name] = line.split(' ');
      const commit = type === 'commit' ? oid : innerType === 'commit' ? innerOid : null;
      return [name.join(' '), commit];
    }),
  );
}

export interface ChangedBlob {
  readonly path: string;
  /** The blob before and after; null when the file does not exist there. */
  readonly before: string | null;
  readonly after: string | null;
}

/** The id of git's empty tree. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const MAX_DIFF_BYTES = 16 * 1024 * 1024;

/** The files that differ between two commits, by path. `before` null compares with an empty tree. Null for too many files. */
export async function diffCommits(
  repository: Repository,
  before: string | null,
  after: string,
): Promise<readonly ChangedBlob[] | null> {
  if (before !== null && (await isHugeTree(repository, before))) return null;
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--end-of-options'];
  const { stdout, cut } = await runCompare(repository, [...args, before ?? EMPTY_TREE, after], {
    maxBytes: MAX_DIFF_BYTES,
  });
  if (cut) return null;
  const parts = stdout.toString('utf8').split('\0');
  const changed: ChangedBlob[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, , from = '', to = ''] = (parts[at] ?? '').split(' ');
    if (from !== to) changed.push({ path: parts[at + 1] ?? '', before: blobOrNull(from), after: blobOrNull(to) });
  }
  return changed;
}

function blobOrNull(oid: string): string | null {
  return /^0+$/.test(oid) ? null : oid;
}

/** The sizes of objects, by id. Missing objects are left out. */
export async function objectSizes(
  repository: Repository,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map();
  const { stdout } = await runGit(repository, ['cat-file', '--batch-check=%(objectname) %(objectsize)', '--buffer'], {
    input: ids.map((id) => `${id}\n`).join(''),
  });
  const rows = stdout
    .toString('latin1')
    .split('\n')
    .filter((line) => /^[0-9a-f]{40} \d+$/.test(line));
  return new Map(rows.map((row) => [row.slice(0, 40), Number(row.slice(41))]));
}
