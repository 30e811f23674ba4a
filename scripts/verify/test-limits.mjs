/** @typedef {import('./tracked.mjs').Files} Files */

/** A limit in ms, as `expect.poll` and `test` take it. That of an option has a unit, and that of a tool is below 100 s. */
const LIMIT = /\btimeout: ([\d_]{3,})\b(?! ?[a-z'])/g;
/** Timed assertions: how long work took says how busy the machine is. */
const TIMED = /expect\([^)\n]*(?:Date\.now\(\)|performance\.now\(\)) - [^)\n]*\)+\s*\.toBeLessThan/g;
/** `PATIENCE_MS.poll` of test/support/patience.ts. */
const LEAST_MS = 120_000;

/** Tests must pass on a busy machine. @param {Files} files @returns {string[]} */
export function checkTestLimits(files) {
  return [...files].flatMap(([path, text]) => {
    if (!/^test\/.*\.test\.ts$/.test(path)) return [];
    const short = [...text.matchAll(LIMIT)].filter(([, ms = '']) => Number(ms.replaceAll('_', '')) < LEAST_MS);
    return [
      ...short.map(
        ([found]) =>
          `${path}: ${found}: remove it, so that PATIENCE_MS of test/support/patience.ts applies, which a busy machine needs.`,
      ),
      ...[...text.matchAll(TIMED)].map(
        ([found]) => `${path}: ${found}: compare CPU time with expectCpu, or wait for an event.`,
      ),
    ];
  });
}
