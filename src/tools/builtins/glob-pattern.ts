import { BadArgument } from '../arguments.js';

/** Parts of a glob and their RE2 source. RE2 does not backtrack, so no pattern hangs the worker. */
const PARTS: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/^\*\*\//, () => '(?:[^/]+/)*'],
  [/^\*\*/, () => '.*'],
  [/^\*/, () => '[^/]*'],
  [/^\?/, () => '[^/]'],
  [/^\{[^{}]*\}/, (found) => `(?:${found.slice(1, -1).split(',').map(translate).join('|')})`],
  [/^\[!?[^\]/]+\]/, (found) => `[${found.slice(1, -1).replace(/^!/, '^').replace(/[\\[]/g, '\\$&')}]`],
  [/^[^*?{[]+|^[\s\S]/, (found) => found.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')],
];

function translate(glob: string): string {
  let source = '';
  for (let rest = glob; rest !== ''; ) {
    const [found, write] = match(rest);
    source += write(found);
    rest = rest.slice(found.length);
  }
  return source;
}

function match(rest: string): readonly [string, (found: string) => string] {
  for (const [pattern, write] of PARTS) {
    const found = pattern.exec(rest)?.[0];
    if (found !== undefined) return [found, write];
  }
  throw new BadArgument(`the pattern cannot be read at "${rest}"`);
}

/** The RE2 source of a glob: `*` and `?` stay within a folder, `**` does not; `{a,b}` and `[a-z]` as in a shell. */
export function globSource(glob: string): string {
  return `^${translate(glob)}$`;
}
