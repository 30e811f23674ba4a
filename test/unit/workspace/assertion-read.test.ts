import { describe, expect, test } from 'vitest';
import { ASSERTION_TYPES, type Assertion } from '../../../src/format/assertions/assertion.js';
import { readAssertion } from '../../../src/format/assertions/read-assertion.js';
import { fc, runs } from '../../support/properties.js';

const judge = (value: string, more: Partial<Assertion> = {}): Assertion => ({
  type: 'judge',
  not: false,
  value,
  ...more,
});

describe('an assertion line is read', () => {
  test.each<[string, Assertion]>([
    ['contains: a word', { type: 'contains', not: false, value: 'a word' }],
    ['not-icontains: a: b', { type: 'icontains', not: true, value: 'a: b' }],
    ['equals: ', { type: 'equals', not: false, value: '' }],
    ['starts-with: Dear', { type: 'starts-with', not: false, value: 'Dear' }],
    ['regex: ^(a+)+$', { type: 'regex', not: false, value: '^(a+)+$' }],
    ['is-json', { type: 'is-json', not: false, value: '' }],
    ['not-is-json:', { type: 'is-json', not: true, value: '' }],
    ['judge(strict): It is polite', { type: 'judge', not: false, arg: 'strict', value: 'It is polite' }],
    ['cel: steps.a.data.n > 1', { type: 'cel', not: false, value: 'steps.a.data.n > 1' }],
    ['step(read): cel: data.verdict == "x"', { type: 'cel', not: false, step: 'read', value: 'data.verdict == "x"' }],
    ['step(draft): not-icontains: guarantee', { type: 'icontains', not: true, step: 'draft', value: 'guarantee' }],
    ['step(pay/refund): status: skipped', { type: 'status', not: false, step: 'pay/refund', value: 'skipped' }],
    ['step(draft): It is short', judge('It is short', { step: 'draft' })],
    ['cost: $0.60', { type: 'cost', not: false, value: '$0.60', bound: 0.6 }],
    ['latency: 5m', { type: 'latency', not: false, value: '5m', bound: 300_000 }],
    ['not-tool-called: shop.refund', { type: 'tool-called', not: true, value: 'shop.refund' }],
    ['status: awaiting-approval', { type: 'status', not: false, value: 'awaiting-approval' }],
    ['parked-at: finance_signs_off', { type: 'parked-at', not: false, value: 'finance_signs_off' }],
  ])('%s', (line, assertion) => expect(readAssertion(line)).toEqual({ ok: true, assertion }));
});

describe('any other line is a statement for the judge', () => {
  test.each([
    'The reply names the kettle and says when the money arrives.',
    'The reply is: polite',
    'Note: greets by name',
    'http://example.org is linked',
    'judge',
    'cost',
  ])('%s', (line) => expect(readAssertion(line)).toMatchObject({ ok: true, assertion: judge(line) }));
});

describe('a near-miss of a type is taken as a statement, with a warning', () => {
  test.each([
    ['contain: x', '`contains:`'],
    ['Contains: x', '`contains:`'],
    ['not_contains: x', '`not-contains:`'],
    ['latancy: 4s', '`latency:`'],
    ['tool_called: x', '`tool-called:`'],
    ['stpe(a): contains: x', '`step:`'],
    ['starts_with: x', '`starts-with:`'],
    ['cost : 1', '`cost:`'],
  ])('%s', (line, meant) => {
    const result = readAssertion(line);
    expect(result).toMatchObject({ ok: true, assertion: { type: 'judge', value: line } });
    expect(result.ok && result.warning).toContain(meant);
  });

  test.each(['The reply: is short', 'Greets by name', 'Note: x'])('%s draws none', (line) => {
    expect(readAssertion(line)).not.toHaveProperty('warning');
  });
});

describe('a wrong value is refused with a sentence', () => {
  test.each([
    ['', 'missing'],
    ['contains:', 'missing'],
    ['regex: (', 'RE2'],
    ['regex: (?=a)', 'RE2'],
    ['is-json: x', 'no value'],
    ['contains(x): y', 'takes no (…)'],
    ['cost: cheap', 'amount'],
    ['latency: 5', 'duration'],
    ['status: done', 'one of'],
    ['step(a): status: queued', 'one of'],
    ['parked-at: The Gate', 'id of a step'],
    ['tool-called: a b', 'tool'],
    ['step(The Gate): contains: x', 'id of a step'],
    ['cel: data.x', 'there is no `data`'],
    ['cel: steps.a ==', ''],
  ])('%s', (line, message) => {
    expect(readAssertion(line)).toMatchObject({ ok: false, message: expect.stringContaining(message) });
  });
});

test('reading never throws, and gives one of the closed set', () => {
  const lines = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .tuple(
        fc.constantFrom('', 'not-', 'step(a): '),
        fc.constantFrom(...ASSERTION_TYPES),
        fc.constantFrom('', '(x)', ': '),
        fc.string(),
      )
      .map((all) => all.join('')),
  );
  fc.assert(
    fc.property(lines, (line) => {
      const result = readAssertion(line);
      if (result.ok) expect(ASSERTION_TYPES).toContain(result.assertion.type);
      else expect(result.message).not.toBe('');
    }),
    runs(1_000),
  );
});
