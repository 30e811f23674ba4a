// npm test: set up what is missing, then run the tests. The last line is always `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countTests } from './lib/count-tests.mjs';
import { inRoot, root } from './lib/paths.mjs';
import { runTree } from './lib/process-tree.mjs';
import { setUp } from './lib/setup.mjs';

let count = { passed: 0, failed: 0 };
// However this ends, a set-up that failed included.
process.on('exit', () => process.stdout.write(`${count.passed} passed, ${count.failed} failed\n`));
await setUp();

const folder = mkdtempSync(join(tmpdir(), 'signalbox-test-'));
const report = join(folder, 'report.json');
const reporters = ['default', 'json', inRoot('scripts/lib/slowest-files.mjs')].map((name) => `--reporter=${name}`);
const vitest = inRoot('node_modules/vitest/vitest.mjs');
const { code, left } = await runTree(
  process.execPath,
  [vitest, 'run', ...reporters, `--outputFile.json=${report}`, ...process.argv.slice(2)],
  {
    cwd: root,
  },
);
if (left > 0) process.stderr.write(`${left} processes that the tests had started were ended\n`);
count = countTests(readReport(), code);
rmSync(folder, { recursive: true, force: true });
process.exitCode = count.failed > 0 || count.passed === 0 ? code || 1 : 0;

function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return null;
  }
}
