import { relative } from 'node:path';
import { root } from './paths.mjs';
import { say } from './progress.mjs';

const SHOWN = 20;

/**
 * What Vitest's `TestModule` says of a file, in ms; `duration` is that of its hooks and tests.
 * @typedef {object} Module
 * @property {string} moduleId
 * @property {() => { setupDuration: number, collectDuration: number, duration: number }} diagnostic
 */

/**
 * One line each for the files that took longest, the longest first.
 * @param {readonly Module[]} modules
 * @param {number} most
 */
export function slowestFiles(modules, most) {
  return modules
    .map((module) => {
      const { setupDuration, collectDuration, duration } = module.diagnostic();
      return { name: relative(root, module.moduleId), ms: setupDuration + collectDuration + duration };
    })
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, most)
    .map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(8)} s  ${name}`);
}

/**
 * A reporter of Vitest that prints the slowest files of a run. The JSON report cannot say it: it leaves out hooks, in
 * which some files do most of their work.
 */
class SlowestFiles {
  /** @param {readonly Module[]} modules */
  onTestRunEnd(modules) {
    if (modules.length < 2) return;
    say(`\nThe slowest of ${modules.length} test files:\n${slowestFiles(modules, SHOWN).join('\n')}\n`);
  }
}

// biome-ignore lint/style/noDefaultExport: Vitest takes a reporter by the default export of its file.
export default SlowestFiles;
