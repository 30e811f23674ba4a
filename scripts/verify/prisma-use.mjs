/** @typedef {import('./tracked.mjs').Files} Files */

/** What runs pass through, many times each: SQL only, so that a worker does not load Prisma's query compiler. */
const HOT = /^src\/(?:activities|engine|models|sandbox|platform\/temporal|tools|workflows)\/.*\.ts$/;
const SOURCE = /^src\/(?!.*\/generated\/).*\.ts$/;
const USE = /\bprisma\b\.[a-z]\w*/;
const BATCHED = /\bprisma\.[a-z]\w*\.findUnique\w*/;

/**
 * A run's hot path has no query by Prisma Client, and no query is a `findUnique`. Prisma merges those of one tick into
 * one statement, so that an invalid value in one request refuses another request.
 * @param {Files} files @returns {string[]}
 */
export function checkPrismaUse(files) {
  return [...files].flatMap(([path, text]) => [
    ...(HOT.test(path) ? found(path, text, USE, "a query by Prisma Client on a run's path: write named SQL here") : []),
    ...(SOURCE.test(path) ? found(path, text, BATCHED, 'Prisma merges findUnique calls: use findFirst') : []),
  ]);
}

/** @param {string} path @param {string} text @param {RegExp} pattern @param {string} fault @returns {string[]} */
function found(path, text, pattern, fault) {
  const at = text.search(pattern);
  return at < 0 ? [] : [`${path}:${text.slice(0, at).split('\n').length}: ${fault}.`];
}
