import { pathFault } from '../shared/path-fault.js';

/** The paths that no git tree can hold, with the reason: not canonical, given twice, or below a path that is a file. */
export function unwritablePaths(paths: readonly string[]): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  const files = new Set(paths);
  const seen = new Set<string>();
  for (const path of paths) {
    const fault = pathFault(path);
    const folder = foldersOf(path).find((name) => files.has(name));
    if (fault !== null) faults.set(path, `the path ${fault}`);
    else if (seen.has(path)) faults.set(path, 'the path is given twice');
    else if (folder !== undefined) faults.set(path, `"${folder}" is a file and cannot be a folder as well`);
    seen.add(path);
  }
  return faults;
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
