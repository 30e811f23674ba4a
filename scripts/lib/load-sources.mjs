import { rmSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { inRoot, root } from './paths.mjs';

/**
 * The exports of modules of src/ as they are now, whether or not all of it builds. Two kinds of script need them before
 * there is a build: what sets up, and what writes code.
 * @param {readonly string[]} modules such as `platform/db/write-migration`
 * @returns {Promise<unknown>}
 */
export async function loadSources(modules) {
  const outfile = inRoot(`dist/.sources-${process.pid}.mjs`);
  const contents = modules.map((module) => `export * from './src/${module}.ts';`).join('\n');
  const stdin = { contents, resolveDir: root, loader: /** @type {const} */ ('ts') };
  await build({
    stdin,
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(outfile, { force: true });
  }
}
