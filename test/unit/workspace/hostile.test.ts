import { expect, test } from 'vitest';
import { checkTree } from '../../../src/format/index.js';
import { cpuUnit, expectCpu } from '../../support/cpu-cost.js';
import { TIMES } from '../../support/exploring.js';
import { fc, runs } from '../../support/properties.js';
import { check, NO_CONTEXT, tree } from './tree.js';

const SIZE = 256 * 1024;
const filled = (unit: string, head = '') => head + unit.repeat(Math.floor((SIZE - head.length) / unit.length));
const OPEN = '## A @writer\n\n';

/** Shapes that made a reader slow or exhausted its stack while this was written, and their neighbours. */
const BODIES: Readonly<Record<string, string>> = {
  'open links': filled('[['),
  'number signs': filled('#'),
  'quote marks': filled('>'),
  'spaced quote marks': filled('> '),
  dashes: filled('- '),
  stars: filled('*'),
  'list items': filled('- a\n'),
  headings: filled('## a\n'),
  'comments in a heading': filled('<!-- ', '## '),
  'a heading within html': filled('## ', '<pre>\n'),
  'setext headings': filled('a\n=\n'),
  'ordered marks': filled('1. '),
  'quotes and items': filled('>- '),
  'lines that go on in a quote': filled('b\n', '> a\n'),
  'quotes of ten levels': `${'> '.repeat(10)}a\n`.repeat(38),
  'quotes one by one': '> a\n\n'.repeat(3_900),
  'nested items': Array.from({ length: 500 }, (_, index) => `${' '.repeat(index * 2)}- a\n`).join(''),
  'link definitions': filled('[a]: b\n'),
  paragraphs: filled('word\n\n'),
  'a paragraph of lines': filled('some words here\n'),
  'code spans': filled('`a` '),
  'spans of two lengths': filled('`a``b '),
  'open spans in a heading': filled('`a', '## '),
  fences: filled('```\n'),
  'open braces': filled('{{'),
  values: filled('{{steps.a.result}} ', OPEN),
  secrets: filled('${A} '),
  comments: filled('<!--'),
  'agents in a heading': filled('@a ', '## '),
  options: filled('- retry: 2\n', OPEN),
  'lines like options': filled('timeout: zz\n', `${OPEN}Text.\n\n`),
  'lists like options': filled('- Approve zz**\n', `${OPEN}Text.\n\n`),
  'an open expression': filled('(', `${OPEN}- when: `),
  'an open list as a value': filled('[', `## A\n\n- subflow: x\n- with: `),
  'blank lines': filled('\n'),
  'carriage returns': filled('\r'),
};
const keys = (length: number) => Array.from({ length }, (_, index) => `k${index}: 1\n`).join('');
const FRONTMATTER: Readonly<Record<string, string>> = {
  'nested lists': filled('- '),
  'open lists': filled('['),
  'open maps': filled('{a: '),
  'one key': filled('a: 1\n'),
  'many keys': keys(24_000),
  'as many keys as are read': keys(5_700),
  'keys of nothing': filled('k:\n'),
  'explicit keys': filled('? a\n'),
  'quoted words': filled('"a" '),
  comments: filled('# a\n'),
  'blank lines': filled('\n'),
  items: filled('- a\n', 'secrets:\n'),
  anchors: filled('&a '),
  'deep maps': Array.from({ length: 700 }, (_, index) => `${' '.repeat(index)}a:\n`).join(''),
  'long list': filled('a,', 'secrets: ['),
};
const PATHS = [
  'flows/a.md',
  'evals/a.md',
  'agents/a.md',
  'tools/a.md',
  'knowledge/a.md',
  'skills/a/SKILL.md',
  '.mcp.json',
];

/** A flow as people write them, as long as a hostile one. It takes about a seventh of the 2 s on a machine of today. */
const PARAGRAPH = `${'Some words of an **ordinary** text, with [[a link]] and {{input.order}}. '.repeat(7)}\n\n`;
const ordinary = cpuUnit(() => check({ 'flows/a.md': filled(PARAGRAPH, OPEN) }));

const shapes = [
  ...Object.entries(BODIES),
  ...Object.entries(FRONTMATTER).map(
    ([name, yaml]) => [`${name} in frontmatter`, `---\n${yaml}\n---\n${OPEN}`] as const,
  ),
];

/**
 * Flows have every part that another file has, and more: the other kinds of file take a share of the size, and a usual
 * run of the tests tries each shape in one of them.
 */
const SHARE = Math.min(SIZE, (SIZE / 4) * TIMES);
/** The worst is at four; what is quadratic is at a hundred and more, and at 25 and more in a share. */
const AT_MOST = 12;
const ordinaryShare = cpuUnit(() => check({ 'flows/a.md': filled(PARAGRAPH, OPEN).slice(0, SHARE) }));

test.each(shapes.map(([name, text], shape) => [name, text, shape] as const))(
  'security 16: a file of %s costs about what an ordinary one costs, whatever kind it is',
  async (_name, text, shape) => {
    const [flow = '', ...all] = PATHS;
    const others = TIMES >= 4 ? all : [all[shape % all.length] ?? ''];
    await expectCpu(() => check({ [flow]: text.slice(0, SIZE) }), { atMost: AT_MOST, unit: ordinary });
    for (const path of others) {
      await expectCpu(() => check({ [path]: text.slice(0, SHARE) }), { atMost: AT_MOST, unit: ordinaryShare });
    }
  },
);

test('frontmatter of more parts than anyone writes is refused with one sentence', () => {
  const { issues } = check({ 'agents/a.md': `---\n${keys(6_000)}---\n\nBe.` });
  expect(issues).toMatchObject([
    { code: 'yaml/syntax', message: 'This YAML has more than 40000 parts: keys, values, signs and ends of lines.' },
  ]);
});

const WORDS = fc.constantFrom(
  '#',
  '## ',
  '### ',
  '@writer',
  '- ',
  '* ',
  'when: ',
  'id: ',
  'approve: human',
  'output: json',
  '> ',
  '```',
  '~~~',
  'yaml schema',
  '<!--',
  '-->',
  '[[',
  ']]',
  '{{',
  '}}',
  '${A}',
  '\\',
  '`',
  '\n',
  '\n\n',
  '\r\n',
  '---\n',
  ': ',
  '"',
  "'",
  '[',
  ']',
  '{',
  '}',
  '&a ',
  '*a ',
  '!!x ',
  '<<',
  '? ',
  '|\n',
  '  ',
  '\t',
  'steps.a.data',
  'input',
  '\u0000',
  '\uFEFF',
  '\uD800',
  'é',
  'trigger: webhook\n',
  'description: x\n',
  'tools: [a, Read]\n',
  'mcpServers:\n  a:\n    url: x\n',
  '### Input\n',
  '### Expect\n',
  'a: approve, "x"',
);
const SOUP = fc.array(fc.oneof(WORDS, fc.string({ maxLength: 6 })), { maxLength: 60 }).map((parts) => parts.join(''));
const MARKDOWN = fc
  .tuple(fc.boolean(), SOUP, SOUP)
  .map(([front, yaml, body]) => (front ? `---\n${yaml}\n---\n${body}` : body));

test('no text in any file makes the check throw, and an error always means no workspace', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...PATHS, 'AGENTS.md', 'memory/a.md'), MARKDOWN, { maxKeys: 4 }),
      (files) => {
        const { issues, workspace } = check(files, { secrets: [], models: { aliases: [], providers: [], any: false } });
        expect(workspace === null).toBe(issues.some(({ severity }) => severity === 'error'));
        for (const issue of issues) {
          expect(issue.line).toBeGreaterThan(0);
          expect(issue.column).toBeGreaterThan(0);
        }
      },
    ),
    runs(400),
  );
});

test('no bytes and no path make the check throw', () => {
  const file = fc.record({
    path: fc.oneof(fc.constantFrom(...PATHS), fc.string({ unit: 'binary' })),
    content: fc.uint8Array({ maxLength: 200 }),
  });
  fc.assert(
    fc.property(fc.array(file, { maxLength: 6 }), (files) => void checkTree(files, NO_CONTEXT)),
    runs(300),
  );
});

test('a tree of issues without end stops at 500 of each kind a file', () => {
  const { issues } = check({ 'flows/a.md': OPEN + '{{nope.a}} '.repeat(5_000), 'agents/writer.md': 'Be.' });
  expect(issues).toHaveLength(500);
});

test('a small tree keeps its worth: what is refused for its size is only what is too large', () => {
  const code = `${OPEN}\`\`\`json\n${`${' '.repeat(90)}"a": 1,\n`.repeat(2_000)}\`\`\`\n`;
  const cases = Array.from(
    { length: 300 },
    (_, index) => `## Step ${index} @a\n\n- retry: 2\n\nWrite part ${index}.\n`,
  ).join('\n');
  for (const text of [code.replace('@writer', '@a'), cases]) {
    expect(checkTree(tree({ 'flows/a.md': text, 'agents/a.md': 'Be.' }), NO_CONTEXT).issues).toEqual([]);
  }
});
