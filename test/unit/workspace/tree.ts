import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CheckContext, type Checked, checkTree, type SourceFile } from '../../../src/format/index.js';

export const NO_CONTEXT: CheckContext = { livePaths: [], secrets: null, models: null };

/** Texts by path, as files of a tree. */
export function tree(files: Readonly<Record<string, string>>): SourceFile[] {
  return Object.entries(files).map(([path, text]) => ({ path, content: new TextEncoder().encode(text) }));
}

export function check(files: Readonly<Record<string, string>>, context: Partial<CheckContext> = {}): Checked {
  return checkTree(tree(files), { ...NO_CONTEXT, ...context });
}

/** The example workspace, texts by path. */
export function kettleAndLeaf(): Record<string, string> {
  const root = fileURLToPath(new URL('../../fixtures/kettle-and-leaf', import.meta.url));
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    paths.map((path) => [relative(root, path).split(sep).join('/'), readFileSync(path, 'utf8')]),
  );
}
