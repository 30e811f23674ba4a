import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { escapeSource } from '../../scripts/lib/ascii-source.mjs';
import { fc } from '../support/properties.js';

const run = (source: string): unknown => runInNewContext(source);

describe('a source in ASCII only', () => {
  it.each([
    ['a string', `'Größe — 家 😀'`],
    ['a template', '`“${1 + 1}” ’`'],
    ['a cooked tagged template', '((parts) => parts.join())`l’été`'],
    ['an escape before a character that needs none', String.raw`'\é\\é\\\é'`],
    ['an escaped line end', `'a\\\nb–c'`],
    ['a class of a regular expression', `'a–b—c'.split(/[–—]/)`],
    ['a range with the u flag', `'x😀y'.replace(/[😀-😂]/u, 'z')`],
    ['a lone surrogate', `/[\\ud800-￿]/.test('\ud83d')`],
    ['a name', 'const größe = 3; größe * 2'],
    ['a property', '({ naïve: 1 }).naïve'],
    ['a comment', '1 /* é */ + 1 // ’'],
    ['a byte order mark', '\ufeff1 + 1'],
  ])('means the same: %s', (_, source) => {
    const escaped = escapeSource(source);
    expect(escaped).toMatch(/^[\0-\x7f]*$/);
    expect(run(escaped)).toEqual(run(source));
  });

  it('means the same for any string', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const escaped = escapeSource(JSON.stringify(text));
        expect(escaped).toMatch(/^[\0-\x7f]*$/);
        expect(run(escaped)).toBe(text);
      }),
    );
  });
});
