import { blankFences } from './links.mjs';

/** Code, whose identifiers, comments, log lines and errors are searched. */
const CODE = /^(?:src|scripts|bench)\/(?!.*\/generated\/).*\.(?:ts|mjs)$/;

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

/** The same as words and as parts of names. @type {readonly (readonly [RegExp, string])[]} */
const NAMES = [
  [/(?:\b|(?<=[a-z]))(?:[Tt]old|[Tt]ell(?:s|ing)?)(?![a-z])/, 'notify, report, announce, record or sync'],
  [/\b[Ww]hoever\b/, 'the person, member or process that'],
  [/\b(?:[Ss]ome|[Nn]o)body\b/, 'a person, a member or a process'],
  [/\banew\b/, 'again'],
  [/(?:\b|(?<=[a-z]))[Nn]arrowed\b/, 'limited or restricted'],
  [/(?:\b|(?<=[a-z]))[Ss]h(?:elf|elves)(?![a-z])/, 'library'],
  [/\bthe word to\b/, 'the signal or the notification'],
  [/(?<!\b[Tt]here )\b(?:is|are) no\b(?! longer)/, '"is not a …" or "invalid …"'],
];

/** Names that others gave, that the database holds, or that recorded histories depend on. @type {readonly (readonly [RegExp, RegExp])[]} */
const EXEMPT = [
  [/^src\/workflows\//, /./],
  [/^src\/schedules\//, /^told$/],
  [/^src\/shared\/failpoint\.ts$/, /^told$/],
  [/^src\/(?:sandbox|embedded)\//, /^nobody$/],
  [/^src\/workspace\/parse\/ignored\/near-deciders\.ts$/, /^somebody$/],
  [/^src\/engine\/agent\/call-model\.ts$/, /^told$/],
  [/^scripts\/verify\/plain-words\.mjs$/, /./],
];

/** @param {import('./tracked.mjs').Files} files @returns {string[]} */
export function checkPlainWords(files) {
  return [...files].flatMap(([path, text]) => {
    if (SEARCHED.test(path)) return faultsOf(path, text);
    return CODE.test(path) ? codeFaultsOf(path, text) : [];
  });
}

/** @param {string} path @param {string} text */
function codeFaultsOf(path, text) {
  const exempt = EXEMPT.filter(([file]) => file.test(path)).map(([, word]) => word);
  return text.split('\n').flatMap((line, index) =>
    NAMES.flatMap(([word, plain]) => {
      const found = word.exec(line)?.[0];
      if (!found || exempt.some((each) => each.test(found))) return [];
      return `${path}:${index + 1}: "${found}" is not a plain word here: write ${plain}.`;
    }),
  );
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
