import { pathFault } from '../shared/path-fault.js';

/** A file's blob id and its executable bit. */
export interface MarkedFile {
  readonly sha: string;
  readonly executable?: boolean | undefined;
}

/** A file of a tree, with its canonical path. */
export interface TreeFile extends MarkedFile {
  readonly path: string;
}

/** The git file mode: executable or regular. */
export function modeOf({ executable }: Pick<MarkedFile, 'executable'>): '100644' | '100755' {
  return executable ? '100755' : '100644';
}

export interface Folder {
  readonly files: Map<string, TreeFile>;
  readonly folders: Map<string, Folder>;
}

/** The files as nested folders. Throws on a path that is not canonical. */
export function foldersOf(files: readonly TreeFile[]): Folder {
  const root = emptyFolder();
  for (const file of files) place(root, file);
  return root;
}

function emptyFolder(): Folder {
  return { files: new Map(), folders: new Map() };
}

function place(root: Folder, file: TreeFile): void {
  if (pathFault(file.path) !== null) throw new Error(`not a canonical path: ${file.path}`);
  const parts = file.path.split('/');
  const name = parts.pop() ?? '';
  let folder = root;
  for (const part of parts) {
    const next = folder.folders.get(part) ?? emptyFolder();
    folder.folders.set(part, next);
    folder = next;
  }
  folder.files.set(name, file);
}
