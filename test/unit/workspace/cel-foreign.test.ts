import { describe, expect, test } from 'vitest';
import { checkCel } from '../../../src/format/cel/index.js';
import { check } from './tree.js';

const roots = ['input', 'steps', 'trigger', 'run'];
const messageOf = (source: string) => {
  const read = checkCel(source, { roots });
  return read.ok ? null : read.message;
};

test.each<[string, number, string]>([
  ["input.a === 'x'", 8, '`===` is not CEL: write `==`'],
  ["input.a !== 'x'", 8, '`!==` is not CEL: write `!=`'],
  ["input.a <> 'x'", 8, 'write `!=`'],
  ["input.a = 'x'", 8, 'write `==`'],
  ["input.a == 'x' and input.b == 'y'", 15, '`and` is not CEL: write `&&`'],
  ["input.a == 'and' AND input.b", 17, '`AND` is not CEL: write `&&`'],
  ["input.a == 'x' or input.b == 'y'", 15, 'write `||`'],
  ['input.a & input.b', 8, 'write `&&`'],
  ['not input.done', 0, 'write `!'],
  ['not(input.done)', 0, 'write `!x`'],
  ["input.a not in ['x']", 8, 'write `!(x in list)`'],
  ["input.a is 'x'", 8, 'write `==`'],
  ['input.a is not null', 8, 'write `!=`'],
  ['{{input.a}} == 1', 0, 'write the path without braces'],
  ["'{{input.a}}' == 'yes'", 0, '`{{input.a}}` is not filled in an expression: write `input.a` without quotes'],
  ['${input.a} == 1', 0, 'write the path without `${…}`'],
  ['input.items.length > 3', 11, 'write `size(input.items)`'],
  ['input.items.length() > 3', 11, 'write `size(input.items)`'],
  ['len(input.items) > 3', 0, 'write `size(input.items)`'],
  ["input.tags.includes('x')", 10, 'there is no function `includes` in CEL: write `text.contains("a")`'],
  ["input.a.startswith('x')", 7, '`text.startsWith("a")`'],
  ["input.a.toLowerCase() == 'x'", 7, 'in any case'],
  ['input.items.some(x => x.n > 1)', 19, 'name the item before the condition'],
  ['input.a ?? false', 8, 'write `has(input.a) ?'],
  ['input?.a', 5, 'write `has(input.a) ?'],
  ['input.a == True', 11, 'write `true`'],
  ['input.a == None', 11, 'write `null`'],
  ['input.a == undefined', 11, 'write `null`'],
  ['input.a == urgent', 11, 'put text in quotes'],
  ["step.a.result == 'x'", 0, 'did you mean `steps`?'],
  ['input.a == `x`', 11, 'put text in'],
  ['if input.a then true', 0, 'write `condition ? a : b`'],
])('%s is refused with the right spelling', (source, offset, message) => {
  const result = checkCel(source, { roots });
  expect(result).toMatchObject({ ok: false, message: expect.stringContaining(message) });
  expect(result.ok ? -1 : result.offset).toBe(offset);
});

test.each([
  "input.a == '===' && input.b == 'a and b'",
  'input.parcel["length"] > 3',
  'size(input.items) > 3 || input.items.size() == 0',
  "steps.length.result == 'x'",
  'has(input.length)',
  "input.a.contains('{{') || input.a == '{{}}'",
  "'x' in input.tags",
  'input.not && input.or',
])('%s is CEL', (source) => expect(messageOf(source)).toBeNull());

test('each place that takes CEL refuses it at deploy: conditions, loops, lists, filters, keys of concurrency, assertions', () => {
  const { issues } = check({
    'agents/worker.md': '---\ndescription: Works.\n---\n\nWork.',
    'flows/f.md': `---
trigger: webhook
filter: input.a === 1
concurrency: { limit: 1, key: "input.a.length" }
---

## One @worker

- when: input.a and input.b
- each: input.items.includes(1)

Go.

## Two @worker

- until: self.result === 'x'
- back_to: one
- max_rounds: 2

Go.
`,
    'evals/e.md': '---\ntarget: flows/f\n---\n\n## A\n\nGo.\n\n### Expect\n\n- cel: steps.one.result === 1\n',
  });
  expect(issues.filter(({ severity }) => severity === 'error').map(({ code, line }) => [code, line])).toEqual([
    ['eval/bad-value', 11],
    ['flow/bad-value', 3],
    ['flow/bad-value', 4],
    ['step/bad-expression', 9],
    ['step/bad-expression', 10],
    ['step/bad-expression', 16],
  ]);
});

test('a text that is looked for may have braces', () => {
  expect(messageOf('!steps.draft.result.contains("{{name}}")')).toBe(null);
  expect(messageOf("input.a.startsWith('{{')")).toBe(null);
});

describe('`.length` is a field where a schema declares it, and refused elsewhere', () => {
  const flow = (key: string, option: string) => `---
trigger: webhook
input:
  parcel:
    length: number
    name: string
  parcels(array):
    length: number
${key}
---

## One @worker

- output: json

Measure it.

\`\`\`json schema
{ "type": "object", "$defs": { "box": { "type": "object", "properties": { "length": { "type": "number" } } } },
  "properties": { "box": { "$ref": "#/$defs/box" }, "any": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/box" }] },
    "items": { "type": "array", "items": { "type": "string" } } } }
\`\`\`

## Many @worker

- each: input.parcels
- output: json
- schema: { length: number }

Measure each.

## Two @worker

${option}

Go.
`;
  const messages = (key: string, option: string) =>
    check({
      'agents/worker.md': '---\ndescription: Works.\n---\n\nWork.',
      'flows/f.md': flow(key, option),
    }).issues.flatMap(({ severity, message }) => (severity === 'error' ? [message] : []));

  test.each([
    'input.parcel.length > 3',
    'input["parcel"].length > 3',
    'input.parcels[0].length > 3',
    'input.parcels.exists(p, p.length > 3)',
    'input.parcels.filter(p, p.length > 3).size() > 0',
    'steps.one.data.box.length > 3',
    'steps.one.data.any.length > 3',
    'steps.many.data[0].length > 3',
    'steps.many.data.all(one, one.length > 3)',
  ])('%s is taken', (source) => expect(messages('', `- when: ${source}`)).toEqual([]));

  test.each([
    'input.parcel.name.length > 3',
    'input.parcels.length > 3',
    'input.length > 3',
    'input.parcels.exists(p, p.name.length > 3)',
    'input.parcels.filter(p, p.length > 3).length > 0',
    'steps.one.data.items.length > 3',
    'steps.one.result.length > 3',
    'steps.many.data.length > 3',
    'trigger.headers.length > 3',
  ])('%s is refused with the right spelling', (source) => {
    expect(messages('', `- when: ${source}`)).toEqual([expect.stringContaining('write `size(input.items)`')]);
  });

  test('in a filter and a key of concurrency, and of the step itself', () => {
    const keys = 'filter: input.parcel.length > 3\nconcurrency: { limit: 1, key: "string(input.parcel.length)" }';
    const until =
      '- output: json\n- schema: { length: number }\n- until: self.data.length > 3\n- back_to: one\n- max_rounds: 2';
    expect(messages(keys, until)).toEqual([]);
    expect(
      messages(keys.replaceAll('.length', '.name.length'), until.replace('.data.length', '.result.length')),
    ).toHaveLength(3);
  });
});
