/** @typedef {import('./tracked.mjs').Files} Files */

/** What runs pass through, many times each: SQL only, so that a worker does not load Prisma's query compiler. */
const HOT = /^src\/(?:activities|engine|models|sandbox|platform\/temporal|tools|workflows)\/.*\.ts$/;
const USE = /\bprisma\b\.[a-z]\w*/;

/** A run's hot path has no query by Prisma Client. @param {Files} files @returns {string[]} */
export function checkPrismaRooms(files) {
  return [...files].flatMap(([path, text]) => {
    const at = HOT.test(path) ? text.search(USE) : -1;
    if (at < 0) return [];
    const line = text.slice(0, at).split('\n').length;
    return [`${path}:${line}: a query by Prisma Client on a run's path: write named SQL here.`];
  });
}
