/** @typedef {import('./tracked.mjs').Files} Files */

const IMPORT = /import\s*\{([^}]*)\}\s*from\s*'(?:node:)?child_process'/g;
const HOME = 'src/shared/spawn-process.ts';

/** The service starts programs by one function, which has every error listener in place. @param {Files} files @returns {string[]} */
export function checkSpawns(files) {
  return [...files].flatMap(([path, text]) =>
    path.startsWith('src/') && path !== HOME
      ? [...text.matchAll(IMPORT)]
          .flatMap((match) => (match[1] ?? '').split(','))
          .map((name) => name.trim())
          .filter((name) => /^(spawn|exec|fork)\b/.test(name))
          .map((name) => `${path}: ${name} of node:child_process: use spawnProcess of ${HOME}, which handles errors.`)
      : [],
  );
}
