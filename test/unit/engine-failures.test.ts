import { describe, expect, test } from 'vitest';
import {
  judgeFailures,
  MOST_CUT_WAITS,
  MOST_NAMED_WAITS,
  NOT_YET,
  type Waited,
} from '../../src/engine/agent/judge-failures.js';
import {
  ModelError,
  type ModelErrorDetails,
  type ModelErrorKind,
  type ResolvedModel,
} from '../../src/models/contract.js';

const MODEL: ResolvedModel = { name: 'm', provider: 'openai', id: 'x', contextTokens: 1_000, price: null };
const failed = (kind: ModelErrorKind, message: string, details: ModelErrorDetails = {}) => ({
  model: { ...MODEL, id: message },
  error: new ModelError(kind, message, details),
});
const circuit = (retryAfterMs: number) => failed('overloaded', 'down', { retryAfterMs, circuit: true });
const NOW = 1_000_000;
const BOUND = 900_000;
const at = (waited: Waited = NOT_YET, boundMs = BOUND) => ({ waited, nowMs: NOW, boundMs });
const cut = {
  usage: { input: 1, output: 1, cached: 0 },
  costNano: 1n,
  costSource: 'operator' as const,
};

test('the shortest of the waits that were named is waited for, and counted', () => {
  const both = [
    failed('overloaded', 'a', { retryAfterMs: 60_000 }),
    failed('transient', 'b', { retryAfterMs: 20_000 }),
  ];
  expect(judgeFailures(both, at({ waits: 3, since: NOW - 5_000 }))).toEqual({
    kind: 'later',
    error: 'a; then b',
    waitMs: 20_000,
    waited: { waits: 4, since: NOW - 5_000 },
  });
});

test('an open circuit is waited for however short its wait, and so is one that only the first model named', () => {
  expect(judgeFailures([circuit(5_000)], at())).toMatchObject({ kind: 'later', waitMs: 5_000 });
  const refused = failed('refused', 'no such key');
  expect(judgeFailures([circuit(20_000), refused], at())).toMatchObject({ kind: 'later', waitMs: 20_000 });
});

describe('a failure in passing', () => {
  test.each([
    ['transient', 'answered 500'],
    ['overloaded', 'answered 503'],
  ] as const)('%s is waited out with growing waits, from its first one on', (kind, message) => {
    const waits = [0, 1, 2, 3, 4, 20].map((count) => {
      const end = judgeFailures([failed(kind, message)], at({ waits: count, since: count === 0 ? null : NOW - 1 }));
      return end.kind === 'later' ? end.waitMs : null;
    });
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(judgeFailures([failed(kind, message)], at())).toMatchObject({ waited: { waits: 1, since: NOW } });
  });

  test('is waited for also when the last model refused: the first one may come back', () => {
    const all = [failed('transient', 'a broke off'), failed('refused', 'b has no key')];
    expect(judgeFailures(all, at())).toMatchObject({ kind: 'later', error: 'a broke off; then b has no key' });
  });

  test('is asked for once more at the end of the bound, and then fails with a sentence that says so', () => {
    const error = [failed('transient', 'answered 500')];
    const late = { waits: 12, since: NOW - BOUND + 3_000 };
    expect(judgeFailures(error, at(late))).toMatchObject({ kind: 'later', waitMs: 3_000 });
    expect(judgeFailures(error, at({ waits: 13, since: NOW - BOUND }))).toEqual({
      kind: 'fail',
      error: 'given up after waiting 13 times, 15 min in all, for a model that answers: answered 500',
    });
  });

  test('that was paid for each time is waited for only so often', () => {
    const broken = [failed('transient', 'broke off', { cut })];
    expect(judgeFailures(broken, at({ waits: MOST_CUT_WAITS - 1, since: NOW - 1 })).kind).toBe('later');
    expect(judgeFailures(broken, at({ waits: MOST_CUT_WAITS, since: NOW - 1 })).kind).toBe('fail');
  });

  test('is not waited for where the bound is 0, but a time that the provider named is', () => {
    expect(judgeFailures([failed('transient', 'a')], at(NOT_YET, 0))).toEqual({ kind: 'fail', error: 'a' });
    expect(judgeFailures([circuit(30_000)], at(NOT_YET, 0)).kind).toBe('fail');
    const named = [failed('overloaded', 'busy', { retryAfterMs: 60_000 })];
    expect(judgeFailures(named, at({ waits: MOST_NAMED_WAITS - 1, since: 0 }, 0)).kind).toBe('later');
    expect(judgeFailures(named, at({ waits: MOST_NAMED_WAITS, since: 0 }, 0)).kind).toBe('fail');
  });
});

test('a call that an older build put off has no time of its first wait: the bound counts from now', () => {
  const end = judgeFailures([failed('transient', 'a')], at({ waits: 19, since: null }));
  expect(end).toMatchObject({ kind: 'later', waited: { waits: 20, since: NOW } });
});

test('what no other model would take is told by its own words, whatever failed before it', () => {
  const busy = failed('overloaded', 'busy', { retryAfterMs: 60_000 });
  expect(judgeFailures([busy, failed('refused', 'bad request', { ours: true })], at())).toEqual({
    kind: 'fail',
    error: 'bad request',
  });
  expect(judgeFailures([busy, failed('overflow', 'too long')], at())).toMatchObject({
    kind: 'overflow',
    error: 'too long',
    model: { id: 'too long' },
  });
});

test('what waiting does not cure fails at once, with the words of each model', () => {
  const all = [failed('refused', 'a has no key'), failed('refused', 'b has no key')];
  expect(judgeFailures(all, at())).toEqual({ kind: 'fail', error: 'a has no key; then b has no key' });
});
