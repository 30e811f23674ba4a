/** @typedef {import('./tracked.mjs').Files} Files */

const TABLE = 'src/shared/failpoint.ts';
const ROW = /^ {2}'?([a-z-]+)'?: '/gm;
const CALL = /\bfailpoint\(([^()]*)\)/g;
/** A name is the argument itself, or what a condition chooses; other strings are what it compares. */
const NAME = /(?:^|[?:])\s*'([a-z-]+)'/g;

/** Every failpoint has its row, and every row its point: a name alone proves nothing. @param {Files} files @returns {string[]} */
export function checkFailpoints(files) {
  const rows = new Set([...(files.get(TABLE) ?? '').matchAll(ROW)].map((match) => match[1] ?? ''));
  const points = [...files].flatMap(([path, text]) =>
    path.startsWith('src/') && path.endsWith('.ts') && path !== TABLE
      ? namesIn(text).map((name) => ({ path, name }))
      : [],
  );
  const called = new Set(points.map(({ name }) => name));
  return [
    ...points
      .filter(({ name }) => !rows.has(name))
      .map(({ path, name }) => `${path}: the failpoint ${name} has no row in ${TABLE}: say there what it is within.`),
    ...[...rows]
      .filter((name) => !called.has(name))
      .map((name) => `${TABLE}: no code calls the failpoint ${name}: call it, or remove its row.`),
  ];
}

/** @param {string} text @returns {string[]} */
function namesIn(text) {
  return [...text.matchAll(CALL)].flatMap((call) => [...(call[1] ?? '').matchAll(NAME)].map((match) => match[1] ?? ''));
}
