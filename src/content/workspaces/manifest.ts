import type { Issue, Workspace } from '../../format/model.js';
import type { MarkedFile } from '../../git/index.js';

/** Who last wrote a source file: a person at the editor, an agent, or a whole deploy. */
export type Writer = 'person' | 'agent' | 'deploy';

export interface ManifestEntry {
  /** The git object id of the blob. */
  readonly sha: string;
  readonly size: number;
  readonly by: Writer;
  /** Marked as executable, by a push. */
  readonly executable?: true;
  /** Memory that an agent wrote and a person edited since; no deploy or push has mentioned it yet. */
  readonly fromAgent?: true;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** A source tree by path. A Map, since `__proto__` is a path like any other. */
export type Tree = ReadonlyMap<string, ManifestEntry>;

/** Data that readers often need of a revision, computed once at its deploy. */
export interface RevisionIndex extends Omit<Workspace, 'plans'> {
  readonly warnings: readonly Issue[];
}

/** The manifest column to a tree. Its keys come from `JSON.parse`, so each is an own property. */
export function parseManifest(manifest: unknown): Map<string, ManifestEntry> {
  return new Map(Object.entries((manifest ?? {}) as Readonly<Record<string, ManifestEntry>>));
}

export interface TreeDiff {
  /** First, since the caller may not have intended it. */
  readonly removed: readonly string[];
  readonly added: readonly string[];
  readonly changed: readonly string[];
}

type Files = ReadonlyMap<string, MarkedFile>;

/** Compares contents only. */
export function diffTrees(before: Files, after: Files): TreeDiff {
  return diff(before, after, (old, file) => old.sha === file.sha);
}

/** Compares contents and executable marks, which both sides must contain. */
export function diffMarkedTrees(before: Files, after: Files): TreeDiff {
  return diff(before, after, (old, file) => old.sha === file.sha && !old.executable === !file.executable);
}

function diff(before: Files, after: Files, isSame: (old: MarkedFile, file: MarkedFile) => boolean): TreeDiff {
  const added: string[] = [];
  const changed: string[] = [];
  for (const [path, file] of after) {
    const old = before.get(path);
    if (!old) added.push(path);
    else if (!isSame(old, file)) changed.push(path);
  }
  const removed = [...before.keys()].filter((path) => !after.has(path));
  return { removed: removed.sort(), added: added.sort(), changed: changed.sort() };
}

export function isEmptyDiff({ added, changed, removed }: TreeDiff): boolean {
  return added.length + changed.length + removed.length === 0;
}
