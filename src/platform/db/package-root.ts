import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json: the same from a source file and from the bundle in `dist/`. */
export const packageRoot: string = findUp(dirname(fileURLToPath(import.meta.url)));

/** Where the build writes `main.js`, `check-worker.js`, `block-watch.js`, `workflow-thread.js` and `workflows.js`. */
export const distDir: string = join(packageRoot, 'dist');

function findUp(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('package.json is missing: start Signalbox from its own, whole folder.');
  return findUp(parent);
}
