import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { SourceFile } from '../../format/model.js';
import { packageRoot } from '../../platform/db/index.js';

export const TEMPLATES = ['blank', 'support', 'research', 'code-review'] as const;
export type Template = (typeof TEMPLATES)[number];

/** The files of a template. `demo` is a workspace that runs without any provider's key. */
export async function readTemplate(name: Template | 'demo'): Promise<readonly SourceFile[]> {
  const folder = join(packageRoot, 'templates', name);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.sort().map(async (file) => ({
      path: file.slice(folder.length + 1).replaceAll(sep, '/'),
      content: new Uint8Array(await readFile(file)),
    })),
  );
}
