import { describe, expect, test } from 'vitest';
import { setKeys } from '../../../src/format/edit/set-keys.js';
import { setTrigger } from '../../../src/format/edit/set-trigger.js';
import { readFrontmatter } from '../../../src/format/yaml/read-frontmatter.js';
import type { Json } from '../../../src/shared/json.js';
import { fc, runs } from '../../support/properties.js';
import { SAMPLE } from './edit-sample.js';

const set = (text: string, keys: Readonly<Record<string, Json>>) => {
  const edited = setKeys(text, keys);
  if (!edited.ok) throw new Error(edited.reason);
  return edited.text;
};
const valuesOf = (text: string) => {
  const read = readFrontmatter(text.replace(/^\uFEFF/, ''));
  if (read.kind === 'unclosed') throw new Error('unclosed');
  return read.kind === 'none' ? {} : ((read.node?.value ?? {}) as Readonly<Record<string, Json>>);
};

describe('a key is set in place, and all other lines stay', () => {
  test.each<[string, Json, string, string]>([
    ['budget', 2, 'budget: $1.50 # USD', 'budget: 2 # USD'],
    [
      'description',
      'Now: with a colon',
      'description:   "Decide a refund"   # one line',
      'description:   "Now: with a colon"   # one line',
    ],
    ['signature', 'chat', 'signature:    hmac', 'signature:    chat'],
    ['secrets', ['A', 'B'], 'secrets: [ SHOP_API_KEY ]', 'secrets: [A, B]'],
    ['tags', ['x'], "tags:\n  - money\n  - 'care'", 'tags: [x]'],
    [
      'input',
      { a: 'string' },
      'input:\n  order_id: string, Order number\n  # the next one may be empty\n  note?: string',
      'input: { a: string }',
    ],
    ['timeout', '5m', "  - 'care'\n---", "  - 'care'\ntimeout: 5m\n---"],
  ])('%s', (key, value, from, to) => {
    expect(SAMPLE).toContain(from);
    expect(set(SAMPLE, { [key]: value })).toBe(SAMPLE.replace(from, to));
  });
});

describe('a key is removed with its lines', () => {
  test.each([
    ['budget', 'budget: $1.50 # USD\n'],
    ['name', 'name: refund-request\n'],
    ['tags', "tags:\n  - money\n  - 'care'\n"],
    ['input', 'input:\n  order_id: string, Order number\n  # the next one may be empty\n  note?: string\n'],
    ['nothing', ''],
  ])('%s', (key, gone) => expect(set(SAMPLE, { [key]: null })).toBe(SAMPLE.replace(gone, '')));
});

test.each([
  ['# Title\n\nText', '---\nbudget: 1\n---\n\n# Title\n\nText'],
  ['', '---\nbudget: 1\n---\n'],
  ['\n# T', '---\nbudget: 1\n---\n\n# T'],
  ['a\r\nb', '---\r\nbudget: 1\r\n---\r\n\r\na\r\nb'],
  ['\uFEFF# T', '\uFEFF---\nbudget: 1\n---\n\n# T'],
  ['---\n---\nx', '---\nbudget: 1\n---\nx'],
  ['---\n# only a comment\n---\nx', '---\n# only a comment\nbudget: 1\n---\nx'],
  ['---\na:\n---\n', '---\na:\nbudget: 1\n---\n'],
  ['---\nbudget:\n---\n', '---\nbudget: 1\n---\n'],
  ['---\nbudget: # none yet\n---\n', '---\nbudget: 1 # none yet\n---\n'],
  ['---\nbudget: |\n  5\n\nz: 1\n---\n', '---\nbudget: 1\n\nz: 1\n---\n'],
  ['---\n  a: 1\n---\n', '---\n  a: 1\n  budget: 1\n---\n'],
  ['---\n"budget": 0\n---', '---\n"budget": 1\n---'],
])('%j gets its key', (before, after) => expect(set(before, { budget: 1 })).toBe(after));

test.each([
  '---\na: 1\n',
  '---\na: [\n---\n',
  '---\n{ a: 1 }\n---\n',
  '---\n- a\n---\n',
  '---\na: 1\na: 2\n---\n',
  '---\na: &x 1\n---\n',
])('%j is refused with a reason', (text) =>
  expect(setKeys(text, { b: 1 })).toEqual({ ok: false, reason: expect.stringMatching(/./) }),
);

test.each([{ '<<': false }, { a: [{ '<<': {} }] }])(
  'the value %j, which no file may hold, is refused with why',
  (fresh) => expect(setKeys(SAMPLE, { fresh })).toEqual({ ok: false, reason: expect.stringContaining('merge key') }),
);

test('a trigger is a word, a list, or an object of trigger keys', () => {
  const text = '---\ntrigger: manual\n---\n\n## A @b\n';
  expect(setTrigger(text, 'email')).toEqual({ ok: true, text: text.replace('manual', 'email') });
  const silent = '---\ndescription: d\n---\n\n## A @a\n\nx\n';
  expect(setTrigger(silent, 'manual')).toEqual({ ok: true, text: silent });
  expect(setTrigger(silent, { trigger: 'manual', cron: '0 9 * * *' })).toEqual({
    ok: true,
    text: silent.replace('d\n---', 'd\ntrigger: manual\ncron: "0 9 * * *"\n---'),
  });
  expect(setTrigger(text, ['email', 'webhook'])).toEqual({
    ok: true,
    text: text.replace('manual', '[email, webhook]'),
  });
  expect(setTrigger(text, { trigger: 'schedule', cron: '30 8 * * 1', timezone: 'Europe/Warsaw' })).toEqual({
    ok: true,
    text: text.replace('manual', 'schedule\ncron: "30 8 * * 1"\ntimezone: Europe/Warsaw'),
  });
  expect(setTrigger(text, { trigger: 'manual', budget: 1 })).toMatchObject({
    ok: false,
    reason: expect.stringContaining('budget'),
  });
});

const values = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json)
  // A key of `<<` is taken nowhere, however it is quoted.
  .filter((value) => value !== null && !JSON.stringify(value).includes('"<<":'));

test('any value can be set; it reads back, and every line of another key is byte for byte the same', () => {
  const keys = fc.constantFrom('name', 'description', 'budget', 'secrets', 'input', 'tags', 'fresh');
  fc.assert(
    fc.property(keys, values, fc.constantFrom('\n', '\r\n'), (key, value, lineEnd) => {
      const before = SAMPLE.replaceAll('\n', lineEnd);
      const after = set(before, { [key]: value });
      expect(valuesOf(after)).toEqual({ ...valuesOf(before), [key]: value });
      const same = commonEnds(before, after);
      // What differs is within the lines of the key, or one new line.
      const changed = before.slice(same.head, before.length - same.tail);
      expect(changed.split(lineEnd).length).toBeLessThanOrEqual(4);
      expect(before.endsWith(after.slice(after.indexOf('# Refund request')))).toBe(true);
      if (lineEnd === '\r\n') expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    }),
    runs(40),
  );
});

test('setting a key and removing it again gives the file back', () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(set(set(SAMPLE, { fresh: value }), { fresh: null })).toBe(SAMPLE);
    }),
    runs(40),
  );
});

test('editing never throws', () => {
  const parts = fc.array(
    fc.constantFrom('---\n', 'a: 1\n', 'b:\n', '  - x\n', '# c\n', 'a: |\n', '  t\n', '\r\n', '"', '{', 'é: [\n'),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        parts.map((all) => all.join('')),
      ),
      values,
      (text, value) => {
        const edited = setKeys(text, { a: value });
        if (edited.ok) expect(valuesOf(edited.text).a).toEqual(value);
      },
    ),
    runs(200),
  );
});

function commonEnds(a: string, b: string): { head: number; tail: number } {
  let head = 0;
  while (head < Math.min(a.length, b.length) && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return { head, tail };
}
