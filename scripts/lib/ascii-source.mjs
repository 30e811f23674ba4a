import { readFile } from 'node:fs/promises';

/**
 * For esbuild: a bundle in ASCII only. V8 keeps a source with any other character in two bytes per character for as long
 * as the process lives, which doubles the memory of the bundle. esbuild escapes strings; this escapes the rest, which is
 * regular expressions and tagged templates.
 */
export const asciiSource = {
  name: 'ascii-source',
  /** @param {import('esbuild').PluginBuild} build */
  setup(build) {
    build.onLoad({ filter: /\.(?:ts|[cm]?js)$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.includes('String.raw') ? text : escapeSource(text);
      return contents === text ? undefined : { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    });
  },
};

/** @param {string} text of a program that reads no text raw */
export function escapeSource(text) {
  // An escaped ASCII character stays as it is: only the backslash of `\é` goes, not the second one of `\\é`.
  return text
    .replace(/^\uFEFF/, '')
    .replace(/(\\[\0-\x7f])|\\?([^\0-\x7f])/g, (_, pair, other) => pair ?? escapeOf(other));
}

/** @param {string} unit of UTF-16 */
function escapeOf(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
