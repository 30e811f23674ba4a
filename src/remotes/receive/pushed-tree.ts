import type { LiveTree, ReadyCommit } from '../../content/index.js';
import { type Issue, MAX_FILES, MAX_TREE_BYTES, type SourceFile } from '../../format/index.js';
import {
  type Commit,
  listTree,
  type MarkedFile,
  type Repository,
  readCommit,
  readKnownCommit,
  readObjects,
  type TreeFault,
  treeId,
  unwritablePaths,
} from '../../git/index.js';
import { Lru } from '../../shared/lru.js';

/** A file with the id of its bytes. */
type PushedFile = SourceFile & { readonly sha: string };

/** A commit's tree, ready to deploy. */
export interface PushedTree {
  readonly commit: ReadyCommit;
  readonly parents: readonly string[];
  readonly message: string;
  readonly files: readonly PushedFile[];
  /** What a workspace cannot hold: links, submodules, names that are not UTF-8. */
  readonly issues: readonly Issue[];
}

const CODES = {
  symlink: 'file/symlink',
  submodule: 'file/submodule',
  encoding: 'file/bad-path',
  'too-large': 'tree/too-large',
} as const satisfies Record<TreeFault['kind'], string>;

const MAX_MESSAGE = 10_000;
const LFS = 'version https://git-lfs.github.com/spec/';

/** Reads a commit's tree within the limits of a deploy. The commit and its objects must exist. */
export async function readPushedTree(repository: Repository, id: string): Promise<PushedTree> {
  const commit = await readCommit(repository, id);
  if (!commit) throw new Error(`commit ${id} does not exist`);
  const listed = await listTree(repository, id, { maxFiles: MAX_FILES, maxBytes: MAX_TREE_BYTES });
  const issues = listed.faults.map(({ path, kind, message }) => toIssue(path, CODES[kind], message));
  const isTooLarge = listed.faults.some(({ kind }) => kind === 'too-large');
  const kept = isTooLarge ? [] : listed.files;
  // Refuses a tree that cannot be restored from its files. The checker reports invalid paths.
  const isSound = issues.length === 0 && unwritablePaths(kept.map(({ path }) => path)).size === 0;
  if (isSound && treeId(kept) !== commit.tree) issues.push(toIssue('', 'tree/not-files', NOT_FILES));
  return toPushed(commit, withContent(kept, await readBlobs(repository, kept)), issues);
}

/**
 * The same for a small push over a revision, without a git process; also proves that no object is missing. Null when
 * git must check and read it.
 */
export async function readPushedChanges(
  repository: Repository,
  id: string,
  { gitCommit, source }: Pick<LiveTree, 'gitCommit' | 'source'>,
): Promise<PushedTree | null> {
  const found = gitCommit === null ? null : readKnownCommit(repository, id, { id: gitCommit, files: source });
  if (!found || found.files.size > MAX_FILES) return null;
  const listed = [...found.files].map(([path, file]) => ({ path, ...file }));
  const blobs = await readBlobs(repository, listed).catch(() => null);
  return blobs && toPushed(found.commit, withContent(listed, blobs), []);
}

function toPushed(
  { id, tree, parents, message }: Commit,
  files: readonly (PushedFile & MarkedFile)[],
  issues: readonly Issue[],
): PushedTree {
  const executable = new Set(files.filter((file) => file.executable).map(({ path }) => path));
  return {
    commit: { id, tree, executable },
    parents,
    message: message.replaceAll('\0', '').trim().slice(0, MAX_MESSAGE) || 'No message',
    files: files.map(({ path, sha, content }) => ({ path, sha, content })),
    issues: [...issues, ...files.filter(isPointer).map(({ path }) => toIssue(path, 'file/lfs-pointer', POINTER))],
  };
}

function withContent<T extends { readonly sha: string }>(
  files: readonly T[],
  blobs: ReadonlyMap<string, Uint8Array>,
): (T & { readonly content: Uint8Array })[] {
  return files.map((file) => ({ ...file, content: blobs.get(file.sha) ?? Buffer.alloc(0) }));
}

/** The blobs of the last tree read from a repository: the next tree shares nearly all of them. */
const lastRead = new Lru<string, ReadonlyMap<string, Uint8Array>>(4);

async function readBlobs(
  repository: Repository,
  files: readonly { readonly sha: string }[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const before = lastRead.get(repository.gitdir);
  const blobs = new Map<string, Uint8Array>();
  const fresh: string[] = [];
  for (const { sha } of files) {
    const known = before?.get(sha);
    if (known) blobs.set(sha, known);
    else fresh.push(sha);
  }
  // Copied, so that the cache does not keep git's whole output in memory.
  for (const [sha, content] of await readObjects(repository, fresh, MAX_TREE_BYTES))
    blobs.set(sha, Buffer.from(content));
  return lastRead.set(repository.gitdir, blobs);
}

const POINTER = 'is a pointer of git LFS, which is not served here; put the file itself there.';
const NOT_FILES = 'The tree holds an empty folder, or a file mode that git no longer writes; commit it again with git.';

function isPointer({ content }: { readonly content: Uint8Array }): boolean {
  return content.byteLength < 1_024 && Buffer.from(content.subarray(0, LFS.length)).toString('latin1') === LFS;
}

function toIssue(path: string, code: string, message: string): Issue {
  return { path, line: 1, column: 1, code, severity: 'error', message };
}
