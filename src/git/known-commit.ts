import type { Folder, MarkedFile, TreeFile } from './folders.js';
import { type Commit, parseCommit } from './read-commit.js';
import type { GitObject, Repository } from './repository.js';
import { foldersById } from './write-tree.js';

/** A commit that is complete in the repository, with its files by path. */
export interface KnownCommit {
  readonly id: string;
  readonly files: ReadonlyMap<string, MarkedFile>;
}

interface ReadyCommit {
  readonly commit: Commit;
  readonly files: ReadonlyMap<string, MarkedFile>;
}

/** Above these limits git walks the objects. */
const MOST = { commits: 100, entries: 8_000 };

/**
 * Reads a commit and the files of its tree without a git process. All objects that it and its ancestors reach must be in
 * memory, or belong to the known commit. Null otherwise, or when the tree has links, submodules, empty folders or names
 * that are not UTF-8: then git must check and list it. A result has no missing objects, and `writeTree` makes the same
 * tree of its files.
 */
export function readKnownCommit({ objects }: Repository, id: string, base: KnownCommit): ReadyCommit | null {
  if (!objects) return null;
  try {
    return new Walk(objects, base).read(id);
  } catch (error) {
    if (error instanceof NeedsGit) return null;
    throw error;
  }
}

class NeedsGit extends Error {}

class Walk {
  readonly #base: BaseIndex;
  #left = MOST.entries;

  constructor(
    private readonly objects: ReadonlyMap<string, GitObject>,
    private readonly base: KnownCommit,
  ) {
    this.#base = indexOf(base.files);
  }

  read(id: string): ReadyCommit {
    const commits = this.#commits(id);
    const files = new Map<string, MarkedFile>();
    // For older commits, only check that no object is missing.
    for (const commit of commits) this.#tree(commit.tree, '', commit.id === id ? files : null);
    const [commit] = commits;
    if (!commit || files.size === 0) throw new NeedsGit();
    return { commit, files };
  }

  /** The commit, first, and its ancestors down to the known commit. */
  #commits(id: string): readonly Commit[] {
    const found = new Map<string, Commit>();
    const next = [id];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      if (at === this.base.id || found.has(at)) continue;
      const commit = parseCommit(at, this.#object(at, 'commit').toString('utf8'));
      found.set(at, commit);
      next.push(...commit.parents);
      if (found.size > MOST.commits) throw new NeedsGit();
    }
    return [...found.values()];
  }

  #tree(id: string, above: string, files: Map<string, MarkedFile> | null): void {
    const known = this.#base.folders.get(id);
    if (known) {
      if (files) this.#folder(known, above, files);
      return;
    }
    const entries = readTreeObject(this.#object(id, 'tree'));
    if (entries.length === 0) throw new NeedsGit();
    for (const { mode, name, id: entry } of entries) {
      this.#countStep();
      const path = `${above}${name}`;
      if (mode === '40000') this.#tree(entry, `${path}/`, files);
      else if ((mode === '100644' || mode === '100755') && (this.#base.blobs.has(entry) || this.#object(entry, 'blob')))
        files?.set(path, { sha: entry, executable: mode === '100755' });
      else throw new NeedsGit();
    }
  }

  #folder(folder: Folder, above: string, files: Map<string, MarkedFile>): void {
    for (const [name, { sha, executable }] of folder.files) {
      this.#countStep();
      files.set(`${above}${name}`, { sha, executable });
    }
    for (const [name, child] of folder.folders) {
      this.#countStep();
      this.#folder(child, `${above}${name}/`, files);
    }
  }

  #object(id: string, type: string): Buffer {
    const object = this.objects.get(id);
    if (object?.type !== type) throw new NeedsGit();
    return object.content;
  }

  /** Limits the walk: a few nested trees can describe 10^8 paths. */
  #countStep(): void {
    this.#left -= 1;
    if (this.#left < 0) throw new NeedsGit();
  }
}

interface BaseIndex {
  readonly folders: ReadonlyMap<string, Folder>;
  readonly blobs: ReadonlySet<string>;
}

const indexes = new WeakMap<KnownCommit['files'], BaseIndex>();

/** Cached per map, since hashing the folders of 2,000 files takes some milliseconds. */
function indexOf(files: KnownCommit['files']): BaseIndex {
  const made = indexes.get(files);
  if (made) return made;
  const listed = [...files].map(([path, { sha, executable }]): TreeFile => ({ path, sha, executable }));
  const index = { folders: foldersById(listed), blobs: new Set(listed.map(({ sha }) => sha)) };
  indexes.set(files, index);
  return index;
}

interface Entry {
  readonly mode: string;
  readonly name: string;
  readonly id: string;
}

/** Parses the `<mode> <name>\0<20 bytes>` entries of a tree object. Git has checked that they are sorted and unique. */
function readTreeObject(content: Buffer): readonly Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < content.byteLength; ) {
    const space = content.indexOf(32, at);
    const zero = content.indexOf(0, space);
    const raw = content.subarray(space + 1, zero);
    const name = raw.toString('utf8');
    if (space < 0 || zero < 0 || !Buffer.from(name).equals(raw)) throw new NeedsGit();
    entries.push({
      mode: content.subarray(at, space).toString('latin1'),
      name,
      id: content.subarray(zero + 1, zero + 21).toString('hex'),
    });
    at = zero + 21;
  }
  return entries;
}
