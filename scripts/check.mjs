// npm run check: while you work: npm run verify beside the unit tests that are quick. Under a minute on two cores.
import { relative } from 'node:path';
import { inRoot, root } from './lib/paths.mjs';
import { runTree } from './lib/process-tree.mjs';
import { say } from './lib/progress.mjs';
import { runChild } from './lib/run-child.mjs';
import { prepareClient, setUp } from './lib/setup.mjs';

/** Unit tests of several seconds of CPU: `npm test` runs them. A file that is slow appears in the list of the slowest. */
const SLOW = ['check-pool', 'workspace/cron-year', 'workspace/hostile'].map((name) => `test/unit/${name}.test.ts`);

await setUp([prepareClient]);
const verify = runChild(process.execPath, [inRoot('scripts/verify.mjs')]);
const tests = await runTree(
  process.execPath,
  [
    inRoot('node_modules/vitest/vitest.mjs'),
    'run',
    '--project=unit',
    '--reporter=dot',
    `--reporter=${inRoot('scripts/lib/slowest-files.mjs')}`,
    ...SLOW.map((file) => `--exclude=${file}`),
  ],
  { cwd: root },
);
const { code, output } = await verify;
say(output.trimEnd());
say(`\nLeft out: ${SLOW.map((file) => relative('test/unit', file)).join(', ')}. Before you finish: npm test.`);
process.exitCode = tests.code || code;
