import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { inRoot } from '../lib/paths.mjs';

/** `[text](target)` and `[label]: target`; images are links too. */
const LINK = /\[[^\]\n]*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|^\[[^\]\n]+\]:\s+<?(\S+?)>?$/gm;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Relative links whose file or heading is missing. External links are not followed.
 * @param {import('./tracked.mjs').Files} files
 * @param {(path: string) => boolean} [exists] for a path from the root
 * @returns {string[]}
 */
export function checkLinks(files, exists = (path) => existsSync(inRoot(path))) {
  const docs = [...files].filter(([path]) => path.endsWith('.md') && !/^(test\/fixtures|templates)\//.test(path));
  return docs.flatMap(([path, text]) =>
    linksOf(text).flatMap(({ target, line }) => {
      const fault = faultOf(path, target, files, exists);
      return fault ? [`${path}:${line}: ${target}: ${fault}.`] : [];
    }),
  );
}

/** The links of a document with their lines; those in code are left out. @param {string} text */
export function linksOf(text) {
  const prose = blankCode(text);
  return [...prose.matchAll(LINK)].map((match) => ({
    target: match[1] ?? match[2] ?? '',
    line: prose.slice(0, match.index).split('\n').length,
  }));
}

/** Links in code are examples. Blanks replace the code, so that line numbers stay. @param {string} text */
function blankCode(text) {
  return text.replace(/^(```|~~~)[\s\S]*?^\1|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, ' '));
}

/**
 * @param {string} path @param {string} target
 * @param {import('./tracked.mjs').Files} files @param {(path: string) => boolean} exists
 */
function faultOf(path, target, files, exists) {
  if (SCHEME.test(target) || target.startsWith('//')) return null;
  const [file = '', anchor] = decodeURI(target).split('#');
  const found = file === '' ? path : posix.join(file.startsWith('/') ? '' : posix.dirname(path), file);
  if (!exists(found) && !files.has(found)) return 'there is no such file';
  const text = files.get(found);
  if (!anchor || text === undefined || !found.endsWith('.md')) return null;
  return anchorsOf(text).has(anchor) ? null : `${found} has no such heading`;
}

/** The anchors that a forge gives to headings. @param {string} text @returns {Set<string>} */
function anchorsOf(text) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  const headings = blankFences(text).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm);
  return new Set(
    [...headings].map(([, title = '']) => {
      const slug = slugOf(title);
      const count = seen.get(slug) ?? 0;
      seen.set(slug, count + 1);
      return count === 0 ? slug : `${slug}-${count}`;
    }),
  );
}

/** Blank lines replace code blocks, so that line numbers stay. @param {string} text */
export const blankFences = (text) => text.replace(/^(`{3,}|~~~)[\s\S]*?^\1/gm, (code) => code.replace(/[^\n]/g, ''));

const slugOf = (/** @type {string} */ title) =>
  title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
