import { describe, expect, test } from 'vitest';
import { readText } from '../../../src/format/text/read-text.js';
import { cpuUnit, expectCpu } from '../../support/cpu-cost.js';
import { fc, runs } from '../../support/properties.js';

/** Pieces in short: text as itself, values in `<>`, links in `[]`. */
const short = (source: string, options = {}) =>
  readText(source, options)
    .pieces.map((piece) => {
      if (piece.kind === 'text') return piece.text;
      if (piece.kind === 'value') return `<${piece.path}>`;
      return `[${[piece.target, piece.heading ?? '', piece.label ?? ''].join(';')}]`;
    })
    .join('');

describe('marks become pieces', () => {
  test.each<[string, string]>([
    ['Hi {{input.email}}, bye', 'Hi <input.email>, bye'],
    ['{{ steps.a.data.items.0.x }}{{b}}', '<steps.a.data.items.0.x><b>'],
    ['see [[knowledge/policy]]', 'see [knowledge/policy;;]'],
    ['[[a#Two words|the\n  label]]', '[a;Two words;the label]'],
    ['[[memory/x/]] and [[a.md|b]]', '[memory/x/;;] and [a.md;;b]'],
    ['{{ a.b\n}}', '<a.b>'],
    ['\\{{not.this}}', '{{not.this}}'],
    ['\\[[nor]] \\${THIS}', '[[nor]] ${THIS}'],
    ['[[]] [[#x]] [[ | ]] [a][[b', '[[]] [[#x]] [[ | ]] [a][[b'],
    ['[[1],[2]]', '[[1],[2]]'],
    ['[link](x) and {one}', '[link](x) and {one}'],
  ])('%j', (source, expected) => expect(short(source)).toBe(expected));

  test('texts beside each other are one piece', () => {
    expect(readText('a <!-- x --> \\{{b').pieces).toEqual([{ kind: 'text', text: 'a  {{b' }]);
  });

  test('without links a link is text', () => expect(short('[[a]] {{b}}', { links: false })).toBe('[[a]] <b>'));
});

describe('data works in code, links do not', () => {
  test.each<[string, string]>([
    ['`{{a}} [[b]]` [[c]]', '`<a> [[b]]` [c;;]'],
    ['```js\n{{a}} [[b]]\n```\n[[c]]', '```js\n<a> [[b]]\n```\n[c;;]'],
    ['~~~\n```\n[[b]]\n~~~\n[[c]]', '~~~\n```\n[[b]]\n~~~\n[c;;]'],
    ['- x\n  ```\n  [[b]]\n  ```\n- [[c]]', '- x\n  ```\n  [[b]]\n  ```\n- [c;;]'],
    ['> ```\n> [[b]]\n> ```\n\n[[c]]', '> ```\n> [[b]]\n> ```\n\n[c;;]'],
    ['````\n```\n[[b]]\n````\n[[c]]', '````\n```\n[[b]]\n````\n[c;;]'],
    ['``a ` [[b]]`` [[c]]', '``a ` [[b]]`` [c;;]'],
    ['`open [[c]]\n\nend`', '`open [c;;]\n\nend`'],
    ['\\`[[c]]\\`', '\\`[c;;]\\`'],
    ['``` a ` b\n[[c]]', '``` a ` b\n[c;;]'],
    ['```\r\n[[b]]\r\n```\r\n[[c]]', '```\r\n[[b]]\r\n```\r\n[c;;]'],
    ['```\n[[b]]', '```\n[[b]]'],
  ])('%j', (source, expected) => expect(short(source)).toBe(expected));
});

describe('HTML comments never reach a model', () => {
  test.each<[string, string]>([
    ['a<!-- {{x}} [[y]] ${Z} -->b', 'ab'],
    ['a<!--\n\n`-->b`', 'ab`'],
    ['a<!-->b', 'ab'],
    ['`<!-- code -->`', '`<!-- code -->`'],
    ['```\n<!-- code -->\n```', '```\n<!-- code -->\n```'],
    ['\\<!-- text -->', '\\<!-- text -->'],
    ['<!-- a --><!-- b -->c', 'c'],
  ])('%j', (source, expected) => expect(short(source)).toBe(expected));

  test('and their marks are not reported', () => expect(readText('<!-- {{x}} ${Z} [[y]] -->').marks).toEqual([]));
});

test('marks are reported where they stand', () => {
  const source = 'A {{a.b}} [[c#d|e]] ${KEY} {{bad path}} {{open\n`${IN_CODE}` ${lower} \\{{x}}';
  expect(readText(source).marks).toEqual([
    { kind: 'value', text: 'a.b', offset: source.indexOf('{{a.b') },
    { kind: 'link', text: 'c#d|e', offset: source.indexOf('[[c') },
    { kind: 'secret', text: 'KEY', offset: source.indexOf('${KEY') },
    { kind: 'bad-value', text: '{{bad path}}', offset: source.indexOf('{{bad') },
    { kind: 'bad-value', text: '{{open', offset: source.indexOf('{{open') },
    { kind: 'secret', text: 'IN_CODE', offset: source.indexOf('${IN') },
  ]);
});

describe('what is malformed stays text and is reported', () => {
  test.each([
    '{{}}',
    '{{ }}',
    '{{1a}}',
    '{{a..b}}',
    '{{a.}}',
    '{{a b}}',
    '{{#if x}}',
    '{{a|b}}',
    '{{a[0]}}',
    '{{a',
    '{{a}',
    '{{',
  ])('%s', (source) => {
    const { pieces, marks } = readText(`x ${source} y`);
    expect(pieces).toEqual([{ kind: 'text', text: `x ${source} y` }]);
    expect(marks.map(({ kind, offset }) => [kind, offset])).toEqual([['bad-value', 2]]);
  });
});

const parts = fc.constantFrom(
  '{{',
  '}}',
  '[[',
  ']]',
  '${',
  '}',
  '\\',
  '`',
  '``',
  '```\n',
  '~~~\n',
  '\n',
  '\n\n',
  '\r\n',
  '<!--',
  '-->',
  'a.b',
  'X',
  '#',
  '|',
  ' ',
  '> ',
  '- ',
);
const sources = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(parts, { maxLength: 30 }).map((all) => all.join('')),
);

test('reading never throws, and every mark points at what it names', () => {
  fc.assert(
    fc.property(sources, (source) => {
      for (const { kind, text, offset } of readText(source).marks) {
        const found = source.slice(offset);
        if (kind === 'secret') expect(found.startsWith(`\${${text}}`)).toBe(true);
        if (kind === 'link') expect(found.startsWith(`[[${text}]]`)).toBe(true);
        if (kind === 'bad-value') expect(found.startsWith(text)).toBe(true);
        if (kind === 'value') expect(found.replace(/^\{\{\s*/, '').startsWith(text)).toBe(true);
      }
    }),
    runs(2_000),
  );
});

test('text without marks, comments and backslashes comes back byte for byte', () => {
  const plain = sources.map((source) => source.replace(/[{[$\\<]/g, ''));
  fc.assert(
    fc.property(plain, (source) => {
      expect(short(source)).toBe(source);
    }),
    runs(1_000),
  );
});

test.each([
  ['backtick runs of every length', backticks],
  ['openings that nothing closes', (size: number) => '[[a{{b`<!-'.repeat(size / 10)],
  ['one long line of marks', (size: number) => '{{a}}[[b]]${C}'.repeat(size / 14)],
  ['quote marks', (size: number) => '> '.repeat(size / 2)],
])(
  'security 16: eight times as much of %s takes about eight times the work, not sixty-four',
  async (_name, sourceOf) => {
    const [small, large] = [sourceOf(4_000), sourceOf(32_000)];
    await expectCpu(() => readText(large), { atMost: 24, unit: cpuUnit(() => readText(small)) });
  },
);

/** So many characters of runs, each one longer than the one before. */
function backticks(size: number): string {
  return Array.from({ length: Math.sqrt(2 * size) }, (_, i) => '`'.repeat(i + 1)).join('a');
}
