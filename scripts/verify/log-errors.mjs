/** @typedef {import('./tracked.mjs').Files} Files */

const CALL = /\blog\??\.(?:debug|info|warn|error|child)\(\s*\{/gi;
/** What an error is called elsewhere, as a key or as a value. */
const NAMES = /^(e|ex|error|exception|failure|cause)$/;
const WHOLE = '`err`, whole: only there the log writes its message, stack and cause';

/** An error in a log line goes under `err`, as it was thrown. @param {Files} files @returns {string[]} */
export function checkLogErrors(files) {
  return [...files].flatMap(([path, text]) =>
    /^(src|bench)\/.*\.ts$/.test(path)
      ? [...text.matchAll(CALL)].flatMap((call) => {
          const line = text.slice(0, call.index).split('\n').length;
          const entries = entriesAt(text, call.index + call[0].length);
          return entries.filter(isFault).map((entry) => `${path}:${line}: "${entry}": log an error as ${WHOLE}.`);
        })
      : [],
  );
}

/** @param {string} entry */
function isFault(entry) {
  const [, key = '', value = key] = /^(\w+)(?:\s*:\s*([\s\S]*))?$/.exec(entry) ?? [];
  const isPart = /\berrorMessage\(|\b(?:e|err|error|failure|cause)\.(?:message|stack)\b/.test(value);
  return isPart || (key !== 'err' && (NAMES.test(key) || NAMES.test(value) || value === 'err'));
}

/** The entries of the object literal whose first one begins at `from`. @param {string} text @param {number} from */
function entriesAt(text, from) {
  const entries = [];
  let depth = 0;
  let start = from;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at] ?? '';
    const isEnd = depth === 0 && char === '}';
    if (isEnd || (depth === 0 && char === ',')) {
      entries.push(text.slice(start, at).trim());
      start = at + 1;
    }
    if (isEnd) break;
    if ('([{'.includes(char)) depth += 1;
    if (')]}'.includes(char)) depth -= 1;
  }
  return entries.filter((entry) => entry !== '');
}
