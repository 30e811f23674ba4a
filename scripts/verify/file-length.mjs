const MAX_LINES = 400;
const CODE = /^(src|test|scripts|bench)\/.*\.(ts|tsx|mts|mjs|js)$/;

/** @param {import('./tracked.mjs').Files} files @returns {string[]} */
export function checkFileLengths(files) {
  return [...files].flatMap(([path, text]) => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
    if (!CODE.test(path) || lines <= MAX_LINES) return [];
    return [`${path}: ${lines} lines; the most is ${MAX_LINES}: split it by what it does.`];
  });
}
