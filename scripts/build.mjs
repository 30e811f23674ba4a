// npm run build: src/ -> dist/main.js, dist/doctor.js, dist/rotate-keys.js, dist/check-worker.js, dist/workflows.js. Each file is put in its place whole.
import { build } from 'esbuild';
import { inRoot } from './lib/paths.mjs';
import { explain } from './lib/progress.mjs';
import { writeWhole } from './lib/stamp.mjs';

const ENTRIES = {
  main: 'src/main.ts',
  doctor: 'src/doctor.ts',
  'rotate-keys': 'src/rotate-keys.ts',
  'check-worker': 'src/deploys/check-worker.ts',
};

async function bundleService() {
  const { outputFiles } = await build({
    entryPoints: Object.fromEntries(Object.entries(ENTRIES).map(([name, path]) => [name, inRoot(path)])),
    outdir: inRoot('dist'),
    bundle: true,
    write: false,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    sourcemap: true,
    logLevel: 'error',
  });
  for (const { path, contents } of outputFiles) writeWhole(path, contents);
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
