import { LIBRARY, layersOf } from './catalog.js';

/**
 * Folders whose files a text may link, and the severity of a missing file: some folders are filled only at run time.
 */
const ROOTS: Readonly<Record<string, 'error' | 'warning'>> = {
  knowledge: 'error',
  memory: 'warning',
  state: 'warning',
  storage: 'warning',
  files: 'warning',
  outputs: 'warning',
};

export type LinkTarget =
  | { readonly kind: 'file' | 'folder'; readonly path: string }
  /** The file exists outside of the tree. */
  | { readonly kind: 'live' }
  | { readonly kind: 'missing'; readonly severity: 'error' | 'warning' }
  | { readonly kind: 'outside' };

/** Existing paths, as sets of files and folders, so that resolving a link is one lookup. */
export interface PathIndex {
  readonly files: ReadonlySet<string>;
  readonly folders: ReadonlySet<string>;
}

export function pathIndex(paths: Iterable<string>): PathIndex {
  const files = new Set(paths);
  const folders = new Set<string>();
  for (const path of files) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      if (folders.has(path.slice(0, at))) break;
      folders.add(path.slice(0, at));
    }
  }
  return { files, folders };
}

/** Resolves `[[target]]` in a text that `agent` reads; the nearest wins. `.md` may be left out. */
export function resolveLink(
  tree: PathIndex,
  live: PathIndex,
  { target, agent }: { target: string; agent?: string | undefined },
): LinkTarget {
  const path = target.replace(/\/+$/, '');
  const severity = ROOTS[path.split('/')[0] ?? ''];
  if (severity === undefined || path.split('/').some((part) => part === '..' || part === '.'))
    return { kind: 'outside' };
  const layers = agent === undefined ? ['', LIBRARY] : layersOf(agent);
  for (const layer of layers) {
    const found = [`${layer}${path}.md`, `${layer}${path}`].find((candidate) => tree.files.has(candidate));
    if (found !== undefined && !target.endsWith('/')) return { kind: 'file', path: found };
    if (tree.folders.has(`${layer}${path}`)) return { kind: 'folder', path: `${layer}${path}` };
  }
  const isLive = live.files.has(path) || live.files.has(`${path}.md`) || live.folders.has(path);
  return isLive ? { kind: 'live' } : { kind: 'missing', severity };
}
