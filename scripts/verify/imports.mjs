import { posix } from 'node:path';

/** @typedef {{ specifier: string, typeOnly: boolean, line: number }} Import */

const STATEMENT = /^\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s*)?['"]([^'"]+)['"]/gm;
const CALL = /\bimport\(\s*(?:\/\*.*?\*\/\s*)?['"]([^'"]+)['"]\s*\)/g;

/** The imports of a module, `import type` and `import()` among them. @param {string} text @returns {Import[]} */
export function importsOf(text) {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ' '));
  const lineAt = (/** @type {number} */ index) => code.slice(0, index).split('\n').length;
  return [
    ...[...code.matchAll(STATEMENT)].map((match) => ({
      specifier: match[2] ?? '',
      typeOnly: match[1] !== undefined,
      line: lineAt(match.index + match[0].length),
    })),
    ...[...code.matchAll(CALL)].map((match) => ({
      specifier: match[1] ?? '',
      typeOnly: false,
      line: lineAt(match.index),
    })),
  ];
}

/** Where a relative import of ours leads, as a path from the root; null for packages. @param {string} from @param {string} specifier */
export function resolveImport(from, specifier) {
  if (!specifier.startsWith('.')) return null;
  return posix.join(posix.dirname(from), specifier).replace(/\.js(x?)$/, '.ts$1');
}
