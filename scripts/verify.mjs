// npm run verify: every check that needs no running service, side by side; one line a part, then the faults.
// `--figures` prints the size and the shape of the code instead.
import { inRoot } from './lib/paths.mjs';
import { say } from './lib/progress.mjs';
import { endChildrenOnSignal, runChild } from './lib/run-child.mjs';
import { prepareClient, setUp } from './lib/setup.mjs';
import { checkCasts } from './verify/casts.mjs';
import { checkFailpoints } from './verify/failpoints.mjs';
import { figuresOf } from './verify/figures.mjs';
import { checkFileLengths } from './verify/file-length.mjs';
import { checkLayers } from './verify/layers.mjs';
import { checkLinks } from './verify/links.mjs';
import { checkLogErrors } from './verify/log-errors.mjs';
import { checkPlainWords } from './verify/plain-words.mjs';
import { checkPrismaUse } from './verify/prisma-use.mjs';
import { checkSpawns } from './verify/spawns.mjs';
import { checkTestLimits } from './verify/test-limits.mjs';
import { readTracked } from './verify/tracked.mjs';
import { checkUnfinished } from './verify/unfinished.mjs';

/** @param {string} program a package's executable @param {...string} args */
const tool =
  (program, ...args) =>
  async () => {
    const { code, output } = await runChild(inRoot('node_modules/.bin', program), args);
    return code === 0 ? [] : [output.trim() || `${program} ended with ${code}`];
  };

await setUp([prepareClient]);
const files = await readTracked();
if (process.argv.includes('--figures')) {
  for (const [name, value] of Object.entries(figuresOf(files))) say(`${String(value).padStart(8)}  ${name}`);
  process.exit(0);
}

/** Each answers its faults, one sentence each; none is a pass. @type {Record<string, () => Promise<string[]> | string[]>} */
const PARTS = {
  format: tool('biome', 'check', '--linter-enabled=false', '--max-diagnostics=none', '.'),
  'lint, import cycles': tool('biome', 'lint', '--max-diagnostics=none', '.'),
  types: tool('tsc', '-p', '.'),
  'dead code': tool('knip', '--no-progress'),
  layers: () => checkLayers(files),
  failpoints: () => checkFailpoints(files),
  'errors in the log': () => checkLogErrors(files),
  'process starts': () => checkSpawns(files),
  'file length': () => checkFileLengths(files),
  'links in the docs': () => checkLinks(files),
  'unfinished words': () => checkUnfinished(files),
  'queries by Prisma': () => checkPrismaUse(files),
  'plain words': () => checkPlainWords(files),
  'time limits in tests': () => checkTestLimits(files),
  casts: () => checkCasts(files),
};

endChildrenOnSignal();
const results = await Promise.all(
  Object.entries(PARTS).map(async ([name, check]) => {
    const since = Date.now();
    const faults = await check();
    say(`${faults.length === 0 ? '✓' : '✗'} ${name} (${((Date.now() - since) / 1000).toFixed(1)} s)`);
    return { name, faults };
  }),
);

const failed = results.filter(({ faults }) => faults.length > 0);
for (const { name, faults } of failed) say(`\n── ${name}\n${faults.join('\n')}`);
if (failed.length > 0) say(`\n${failed.length} of ${results.length} parts found faults.`);
process.exitCode = failed.length === 0 ? 0 : 1;
