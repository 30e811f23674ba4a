import { describe, expect, test } from 'vitest';
import { addCase, checkTree, type NewCase } from '../../../src/format/index.js';
import type { Json } from '../../../src/shared/json.js';
import { fc, runs } from '../../support/properties.js';
import { kettleAndLeaf, NO_CONTEXT, tree } from './tree.js';

const EVAL = 'evals/f-regressions.md';
const TREE = {
  'agents/w.md': '---\ndescription: W.\ntools: [shop]\n---\nYou work.\n',
  'tools/shop.md': '---\ndescription: Shop.\nbase: https://shop.example\n---\n',
  'flows/f.md':
    '---\ndescription: F.\n---\n\n## One @w\n\nDo.\n\n## Agree\n\n- approve: human\n\n## Wait\n\n- wait: event\n',
};
const CASE: NewCase = { target: 'flows/f', title: 'A case', input: 'go', decisions: [], canned: [], expect: [] };

function added(text: string | null, wanted: Partial<NewCase> = {}): string {
  const result = addCase(text, { ...CASE, ...wanted });
  if (!result.ok) throw new Error(result.reason);
  return result.text;
}

function casesOf(text: string) {
  const { workspace, issues } = checkTree(tree({ ...TREE, [EVAL]: text }), NO_CONTEXT);
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  return workspace?.evals[0]?.cases ?? [];
}

test('a new file runs by hand, and holds the case as the format says it', () => {
  const text = added(null, {
    decisions: [
      { step: 'agree', decision: 'approve', note: 'Fine' },
      { step: 'wait', decision: 'event', event: { paid: true } },
    ],
    canned: [{ tool: 'shop.get', answer: { id: 1 } }],
    expect: ['status: completed', 'It is polite.'],
  });
  expect(text).toBe(
    [
      '---\ndescription: Cases saved from runs of flows/f.\ntarget: flows/f\ntrigger: manual\n---',
      '## A case',
      '### Input',
      '```text\ngo\n```',
      '### Decisions',
      '- agree: approve, "Fine"\n- wait: event {"paid":true}',
      '### Tools',
      '```json shop.get\n{\n  "id": 1\n}\n```',
      '### Expect',
      '- status: completed\n- It is polite.\n',
    ].join('\n\n'),
  );
  expect(casesOf(text)).toHaveLength(1);
});

test('a case without assertions has none, so the default judge grades it', () => {
  const text = added(null);
  expect(text).not.toContain('### Expect');
  expect(casesOf(text)[0]?.expect).toEqual([]);
});

describe('appending keeps every byte that was there', () => {
  const old = added(null, { title: 'Old' });
  test.each([
    ['as it is written', old],
    ['with Windows line ends', old.replaceAll('\n', '\r\n')],
    ['with a byte order mark', `\uFEFF${old}`],
    ['without a last line end', old.trimEnd()],
    ['with comments and odd spelling', old.replace('trigger: manual', "trigger:   'manual' # by hand")],
  ])('%s', (_, text) => {
    const now = added(text, { title: 'New' });
    expect(now.startsWith(text)).toBe(true);
    expect(casesOf(now).map(({ title }) => title)).toEqual(['Old', 'New']);
    if (text.includes('\r\n')) expect(now.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  });

  test('a file with CRLF gets its blank line', () => {
    const before = added(null).replaceAll('\n', '\r\n').trimEnd();
    for (const end of ['\r\n', '\r\n\r\n']) {
      expect(added(before + end, { title: 'B' }).slice(before.length)).toMatch(/^\r\n\r\n## B\r\n/);
    }
  });

  test('the example’s own file takes one more', () => {
    const files = kettleAndLeaf();
    const path = 'evals/refund-request-regressions.md';
    const text = files[path] ?? '';
    const now = added(text, { target: 'flows/refund-request', input: { order_id: 'A-1' } });
    expect(now.startsWith(text)).toBe(true);
    const { workspace } = checkTree(tree({ ...files, [path]: now }), NO_CONTEXT);
    expect(workspace?.evals[0]?.cases).toHaveLength(3);
  });
});

test('a name that is taken gets a number, and a file about something else is left alone', () => {
  const twice = added(added(null));
  expect(casesOf(added(twice)).map(({ title }) => title)).toEqual(['A case', 'A case (2)', 'A case (3)']);
  expect(addCase(twice, { ...CASE, target: 'agents/w' })).toMatchObject({ ok: false, conflict: true });
});

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);
const nasty = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom(
    '```\n## Not a case\n```',
    '~~~~\n<!--',
    '<!-- a comment -->',
    '\r\n\ttabs \u2028  blanks  ',
    '---\n',
    '',
    '@writer {{input}} [[x]] ${Y}',
    '### Expect\n\n- status: failed',
  ),
);

test('whatever came into a run reads back from its case just so', () => {
  fc.assert(
    fc.property(fc.oneof(json, nasty), nasty, json, nasty, (input, note, event, answer) => {
      const text = added(added(null), {
        title: 'Another',
        input,
        decisions: [
          { step: 'agree', decision: 'reject', ...(note === '' ? {} : { note }) },
          { step: 'wait', decision: 'event', event },
        ],
        canned: [
          { tool: 'shop', answer },
          { tool: 'shop', answer: { answer } },
        ],
      });
      const [, found] = casesOf(text);
      expect(found?.input).toEqual(input);
      expect(found?.decisions).toEqual([
        { step: 'agree', decision: 'reject', ...(note === '' ? {} : { note }) },
        { step: 'wait', decision: 'event', event },
      ]);
      expect(found?.tools).toEqual({ shop: [answer, { answer }] });
    }),
    runs(30),
  );
});

test.each([
  ['an assertion on two lines', { expect: ['status: completed\n\n## Another case'] }, /expect\[0\].*one line/],
  ['an assertion that is none', { expect: ['latency: soon'] }, /expect\[0\] cannot be read/],
  ['a fence that would swallow what follows', { expect: ['```', 'status: completed'] }, /read back/],
  ['a comment that would vanish', { expect: ['It is <!-- not --> polite'] }, /read back/],
  ['a name with an agent at its end', { title: 'Hello @writer' }, /read back/],
  ['a name with marks', { title: 'a *b* `c`' }, /read back/],
])('%s is refused, with what to do', (_, wanted, reason) => {
  const result = addCase(null, { ...CASE, ...wanted });
  expect(result).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
});
