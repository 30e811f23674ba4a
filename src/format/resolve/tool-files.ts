import type { SourceFile } from '../model.js';
import type { Catalog, Found } from './catalog.js';

/** Resolves a path relative to the folder of the file that names it; undefined when it leaves the tree. */
export function resolveBeside(from: string, path: string): string | undefined {
  const parts = from.split('/').slice(0, -1);
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join('/');
}

/** The path of the program that a script tool names in `run:`; undefined when the program is code in the body. */
export function programPath({ model, source }: Found<'tool'>): string | undefined {
  const run = model.keys.values.run?.name;
  if (run === undefined) return undefined;
  return run.startsWith('library/scripts/') ? run : resolveBeside(source.path, run);
}

/** All files of a tool's folder. A flat tool has only the program that it names. */
export function filesBeside(catalog: Catalog, tool: Found<'tool'>): SourceFile[] {
  const { path } = tool.source;
  if (path.endsWith('/tool.md')) {
    const folder = path.slice(0, -'tool.md'.length);
    return [...catalog.files.values()].filter((file) => file.path.startsWith(folder) && file.path !== path);
  }
  const program = programPath(tool);
  const file = program === undefined ? undefined : catalog.files.get(program);
  return file ? [file] : [];
}
