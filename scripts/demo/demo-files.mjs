import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { inRoot } from '../lib/paths.mjs';

const folder = inRoot('templates/demo');

/**
 * The demo workspace as a deploy sends it. For a model its AGENTS.md loses the line that names the scripted provider:
 * then every agent runs on the service's own model.
 * @param {{ withModel: boolean }} options
 */
export async function readDemoFiles({ withModel }) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.sort().map(async (file) => {
      const path = file.slice(folder.length + 1).replaceAll(sep, '/');
      const content = await readFile(file, 'utf8');
      return { path, content: withModel && path === 'AGENTS.md' ? content.replace(/^models:.*\n/m, '') : content };
    }),
  );
}
