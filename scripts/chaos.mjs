// npm run chaos: set up what is missing, then raise a storm over the built service: its processes, Temporal and
// Postgres are killed, paused and started again while runs continue, and then everything must add up.
import { pathToFileURL } from 'node:url';
import { inRoot } from './lib/paths.mjs';
import { setUp } from './lib/setup.mjs';

await setUp();
const { build } = await import('esbuild');
await build({
  entryPoints: { main: inRoot('bench/chaos/main.ts') },
  outdir: inRoot('dist/chaos'),
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  sourcemap: true,
  logLevel: 'error',
});
process.setSourceMapsEnabled(true);
await import(pathToFileURL(inRoot('dist/chaos/main.js')).href);
