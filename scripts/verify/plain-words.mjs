import { blankFences } from './links.mjs';

/** Code, whose identifiers, comments, log lines and errors are searched. */
const CODE = /^(?:src|scripts|bench)\/(?!.*\/generated\/).*\.(?:ts|mjs)$|^prisma\/schema\.prisma$/;

/** The documents that hand-written text is searched in; the generated page has texts of the code. */
const SEARCHED = /^(README|ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md$|^docs\/(?!format\/step-options\.md$).*\.md$/;

/** Words of the old dialect, also as parts of names, and what to write. @type {readonly (readonly [RegExp, string])[]} */
const WORDS = [
  [/(?:\b|(?<=[a-z]))[Tt]old(?![a-z])/, 'notified, reported or recorded'],
  [/(?:\b|(?<=[a-z]))[Tt]ell(?:s|ing)?(?![a-z])/, 'notify, report, announce, record or sync'],
  [/\bwhoever\b/i, 'the person, member or process that'],
  [/\b(?:some|no|any)body\b/i, 'a person, a member or a process'],
  [/\banew\b/i, 'again'],
  [/(?:\b|(?<=[a-z]))[Nn]arrowed\b/, 'limited or restricted'],
  [/(?:\b|(?<=[a-z]))[Ss]hel(?:f|ves)(?![a-z])/, 'library'],
  [/\bthe word to\b/i, 'the signal or the notification'],
  [/\bfor ever\b/i, 'forever'],
  [/(?<!\bthere )\b(?:is|are) no\b(?! longer\b| more than\b)/i, '"is not a …" or "invalid …"'],
  [/\b(?:go|goes|going|went|gone) on\b(?! (?:main|line)\b)/i, 'continue'],
  [/\b(?:put|puts|putting) off\b/i, 'postpone'],
  [/\bwork(?:s|ed|ing)? off\b/i, 'process'],
  [/\b(?:what|whatever) becam?es? of\b/i, 'the outcome of'],
  [/\bany more\b/i, 'no longer'],
  [/\bfor good\b/i, 'permanently'],
  [/\bhand(?:s|ed|ing)? (?:on|work)\b/i, 'delegate'],
  [/\bwithout a word\b/i, 'without an error message'],
  [/\b(?:un)?heard(?![a-z])/i, 'received or notified'],
  [/\b(?:is|are) not taken\b/i, 'is not accepted or not supported'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix or repair'],
];

/** Names that others gave, that the database holds, or that recorded histories depend on. @type {readonly (readonly [RegExp, RegExp])[]} */
const EXEMPT = [
  // A column.
  [/^prisma\/schema\.prisma$/, /^told$/],
  [/^src\/triggers\/schedules\//, /^told$/],
  [/^src\/(?:sandbox|platform\/embedded)\//, /^nobody$/],
  [/^src\/format\/parse\/ignored\/near-deciders\.ts$/, /^(?:some|any)body$/],
  // The folder `mend` and its functions.
  [/^src\/models\//, /^mend(?:ed)?$/],
  [/^scripts\/verify\/plain-words\.mjs$/, /./],
];

/** @param {import('./tracked.mjs').Files} files @returns {string[]} */
export function checkPlainWords(files) {
  return [...files].flatMap(([path, text]) => {
    if (SEARCHED.test(path)) return faultsOf(path, blankFences(text).replace(/`[^`\n]*`/g, ''));
    return CODE.test(path) ? faultsOf(path, text) : [];
  });
}

/** @param {string} path @param {string} text */
function faultsOf(path, text) {
  const exempt = EXEMPT.filter(([file]) => file.test(path)).map(([, word]) => word);
  return text.split('\n').flatMap((line, index) =>
    WORDS.flatMap(([word, plain]) => {
      const found = word.exec(line)?.[0];
      if (!found || exempt.some((each) => each.test(found))) return [];
      return `${path}:${index + 1}: "${found}" is not a plain word here: write ${plain}.`;
    }),
  );
}
