const SEARCHED = /^(src|test)\/.*\.(ts|tsx|mts|mjs)$/;
const WORDS = /\b(TODO|FIXME|XXX)\b|\.(only|skip|todo)\(|\bnot (yet )?implemented\b|\bfor now\b/i;

/** @param {import('./tracked.mjs').Files} files @returns {string[]} */
export function checkUnfinished(files) {
  const searched = [...files].filter(([path]) => SEARCHED.test(path) && !path.startsWith('test/fixtures/'));
  return searched.flatMap(([path, text]) =>
    text.split('\n').flatMap((line, index) => {
      const word = WORDS.exec(line)?.[0];
      return word ? [`${path}:${index + 1}: "${word}" marks something unfinished: finish it, or open an issue.`] : [];
    }),
  );
}
