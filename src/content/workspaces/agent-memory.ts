import type { LiveTree } from './live-tree.js';

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
