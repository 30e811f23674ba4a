import { blankFences } from './links.mjs';

/** The documents that hand-written text is searched in; the generated page has texts of the code. */
const SEARCHED = /^(README|ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/(?!format\/step-options\.md$).*\.md$/;

/** Words of the old dialect, and what to write. @type {readonly (readonly [RegExp, string])[]} */
const WORDS = [
  [/\btold\b/i, 'notified, reported or recorded'],
  [/\bwhoever\b/i, 'the person, member or process that'],
  [/\b(?:some|no|any)body\b/i, 'a person, a member or a process'],
  [/\banew\b/i, 'again'],
  [/\bnarrowed\b/i, 'limited or restricted'],
  [/\bthe word to\b/i, 'the signal or the notification'],
  [/(?<!\bthere )\b(?:is|are) no\b/i, '"is not a …" or "invalid …"'],
];

/** @param {import('./tracked.mjs').Files} files @returns {string[]} */
export function checkPlainWords(files) {
  return [...files].flatMap(([path, text]) => (SEARCHED.test(path) ? faultsOf(path, text) : []));
}

/** @param {string} path @param {string} text */
function faultsOf(path, text) {
  const lines = blankFences(text).split('\n');
  return lines.flatMap((line, index) => {
    const prose = line.replace(/`[^`]*`/g, '');
    return WORDS.flatMap(([word, plain]) => {
      const found = word.exec(prose)?.[0];
      return found ? [`${path}:${index + 1}: "${found}" is not a plain word here: write ${plain}.`] : [];
    });
  });
}
