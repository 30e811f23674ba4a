import { format } from 'prettier';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/shared/json.js';
import { check, kettleAndLeaf } from './tree.js';

const files = kettleAndLeaf();
const flows = Object.keys(files).filter((path) => path.startsWith('flows/'));

/** Line breaks inside a paragraph are what a formatter may move, and nothing else. */
const loose = (value: Json): Json =>
  JSON.parse(JSON.stringify(value), (_key, entry) => (typeof entry === 'string' ? entry.replace(/\s+/g, ' ') : entry));

const planOf = (path: string, text: string) => {
  const { workspace, issues } = check({ ...files, [path]: text });
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  return workspace?.plans[path.replace(/\.md$/, '')] as unknown as Json;
};

test('the example has flows to try this on', () => expect(flows.length).toBeGreaterThan(2));

describe.each(flows)('%s means the same', (path) => {
  const text = files[path] ?? '';
  const before = planOf(path, text);

  test.each(['always', 'never', 'preserve'] as const)('after Prettier with proseWrap %s', async (proseWrap) => {
    const formatted = await format(text, { parser: 'markdown', proseWrap, printWidth: 120 });
    expect(loose(planOf(path, formatted))).toEqual(loose(before));
  });
  test('or is refused by the line, when Prettier breaks an option that is longer than its lines', async () => {
    const formatted = await format(text, { parser: 'markdown', proseWrap: 'always', printWidth: 40 });
    const { workspace, issues } = check({ ...files, [path]: formatted });
    const broken = issues.filter(({ code }) => code === 'step/option-not-one-line');
    if (broken.length === 0)
      expect(loose(workspace?.plans[path.replace(/\.md$/, '')] as unknown as Json)).toEqual(loose(before));
    const lines = formatted.split('\n');
    for (const { line } of broken) expect(lines[line - 1]).toMatch(/^- [a-z_]+: /);
  });
  test('with CRLF line ends', () => expect(planOf(path, text.replaceAll('\n', '\r\n'))).toEqual(before));
  test('behind a byte order mark', () => expect(planOf(path, `\uFEFF${text}`)).toEqual(before));
});
