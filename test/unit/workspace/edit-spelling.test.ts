import { describe, expect, test } from 'vitest';
import { changeFlow, type FlowChange } from '../../../src/format/edit/change-flow.js';
import { mapFlow } from '../../../src/format/edit/flow-map.js';
import { setOptions } from '../../../src/format/edit/set-options.js';
import type { Edited } from '../../../src/format/edit/splice.js';
import { readFlowText } from '../../../src/format/read-flow-text.js';
import type { Json } from '../../../src/shared/json.js';
import { SAMPLE } from './edit-sample.js';

const done = (edited: Edited) => {
  if (!edited.ok) throw new Error(edited.reason);
  return edited.text;
};

describe('an option that a formatter wrapped', () => {
  const flow = '## A @a\n\n- id: a\n- when: input.x &&\n  input.y &&\n  input.z\n\nText.\n';
  const first = '## A @a\n\n- when:\n  input.x && input.y\n- id: a\n\nText.\n';
  test.each<[string, Readonly<Record<string, Json>>, string]>([
    [flow, { when: 'input.q' }, '## A @a\n\n- id: a\n- when: input.q\n\nText.\n'],
    [flow, { when: null }, '## A @a\n\n- id: a\n\nText.\n'],
    [flow, { when: null, id: null }, '## A @a\n\nText.\n'],
    [flow, { id: 'b' }, flow.replace('id: a', 'id: b')],
    [flow, { timeout: '5m' }, flow.replace('input.z\n', 'input.z\n- timeout: 5m\n')],
    [flow, { when: 'input.x && input.y && input.z' }, flow],
    [first, { when: 'input.q' }, '## A @a\n\n- when:\n  input.q\n- id: a\n\nText.\n'],
    [first, { when: null }, '## A @a\n\n- id: a\n\nText.\n'],
  ])('%# %j', (text, options, expected) => {
    expect(done(setOptions(text, 1, options))).toBe(expected);
    const crlf = (lf: string) => lf.replaceAll('\n', '\r\n');
    expect(done(setOptions(crlf(text), 1, options))).toBe(crlf(expected));
  });
});

describe('a comment behind an option', () => {
  test.each<[string, Readonly<Record<string, Json>>, string]>([
    ['timeout: 5m # why', { timeout: '10m' }, 'timeout: 10m # why'],
    ['timeout: "5m"  # why', { timeout: '10m' }, 'timeout: 10m  # why'],
    ['retry: { max: 3 } # three', { retry: 2 }, 'retry: 2 # three'],
    ['tools: ["a # b", c] # two', { tools: ['d'] }, 'tools: [d] # two'],
    ['model: "a # b"', { model: 'c' }, 'model: c'],
    ['model: a#b', { model: 'c' }, 'model: c'],
    ['when: input.x # 1', { when: 'input.y' }, 'when: input.y'],
  ])('%s: %j', (from, options, to) => {
    expect(done(setOptions(`## A @a\n\n- ${from}\n\nText.\n`, 1, options))).toBe(`## A @a\n\n- ${to}\n\nText.\n`);
  });
});

describe('what is there already changes no byte', () => {
  const flow = [
    '---\ndescription:   "D"  # d\ntrigger: webhook\ntags: [ a,b ]\n---\n# T\n## A @a',
    '- retry:   { max: 3,  wait: 30s } # r',
    "- timeout: '5m'",
    '- with: {b: 1, a: [ 2 ]}',
    '- when: input.x &&\n  input.y',
    '* a list\n\n```yaml schema\na: string\n```\n\nbehind  \n<!-- c -->\n\n    code\n## B',
    '- subflow: s\n',
    '## @c ##\n## G\n### D @d\n',
  ].join('\n');
  test.each([flow, flow.replaceAll('\n', '\r\n'), `\uFEFF${flow}`, SAMPLE])('as it is read (%#)', (text) => {
    const plain = text.replace('\uFEFF', '');
    const read = readFlowText(text);
    expect(read?.steps.length).toBeGreaterThan(3);
    const agents = mapFlow(plain)?.steps.map(({ heading }) => heading.agent?.name ?? null);
    for (const { n, options, instruction } of read?.steps ?? []) {
      const target = agents?.[n - 1] ?? null;
      const change = { kind: 'edit', step: n, options, instruction, target } as const;
      expect(done(changeFlow(text, change))).toBe(text);
      const inLf = { ...change, instruction: instruction.replaceAll('\r\n', '\n') };
      expect(done(changeFlow(text, inLf))).toBe(text);
    }
    expect(done(changeFlow(text, { kind: 'regroup', groups: read?.groups ?? [] }))).toBe(text);
  });
  test.each<[FlowChange]>([
    [{ kind: 'edit', step: 1, options: { retry: { max: 3, wait: '30s' }, timeout: '5m', with: { b: 1, a: [2] } } }],
    [{ kind: 'edit', step: 2, subflow: 's' }],
    [{ kind: 'trigger', trigger: ['webhook'] }],
    [{ kind: 'trigger', trigger: { trigger: 'webhook' } }],
    [{ kind: 'keys', keys: { description: 'D', tags: ['a', 'b'] } }],
  ])('as a value: %j', (change) => expect(done(changeFlow(flow, change))).toBe(flow));
  test('but keys in another order are another value', () =>
    expect(done(setOptions(flow, 1, { with: { a: [2], b: 1 } }))).toBe(
      flow.replace('{b: 1, a: [ 2 ]}', '{ a: [2], b: 1 }'),
    ));
});

describe('a text that is how a file spells an option is written so', () => {
  test.each<[string, string, string]>([
    ['retry', '{ max: 3,  wait: 30s }', '{ max: 3,  wait: 30s }'],
    ['retry', ' 3 ', '3'],
    ['retry', '[3]', '"[3]"'],
    ['need', '2', '2'],
    ['need', 'all', 'all'],
    ['self', 'false', 'false'],
    ['tools', '[a, b] # two', '[a, b] # two'],
    ['approve', '[a@b.test, "role:admin"]', '[a@b.test, "role:admin"]'],
    ['with', '{ a: [1, 2], b: x }', '{ a: [1, 2], b: x }'],
    ['escalate', '{ after: 1h, to: owner }', '{ after: 1h, to: owner }'],
    ['timeout', '10m # why', '10m # why'],
    ['timeout', '5m', '5m'],
    ['model', '"a b"', '"a b"'],
    ['model', 'a # b', '"a # b"'],
    ['model', '{{input.m}}', '"{{input.m}}"'],
    ['model', '12', '"12"'],
    ['retry', '{ max: 3,\n wait: 30s }', '"{ max: 3,\\n wait: 30s }"'],
    ['retry', '{ max: 3', '"{ max: 3"'],
    ['nothing', '[1]', '"[1]"'],
  ])('%s: %s', (key, text, written) => {
    expect(done(setOptions('## A @a\n\nText.\n', 1, { [key]: text }))).toBe(
      `## A @a\n\n- ${key}: ${written}\n\nText.\n`,
    );
  });

  test('what a reader of a flow is shown of each step, set on another step, says the same', () => {
    for (const { options } of readFlowText(SAMPLE)?.steps ?? []) {
      const added = done(changeFlow('## A @a\n\nText.\n', { kind: 'edit', step: 1, options }));
      expect(readFlowText(added)?.steps[0]?.options).toEqual(options);
    }
  });
});
