import { expect, test } from 'vitest';
import { judgeFailures, MOST_WAITS } from '../../src/engine/agent/judge-failures.js';
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

test('the shortest of the waits that were named is waited for, and counted', () => {
  const both = [
    failed('overloaded', 'a', { retryAfterMs: 60_000 }),
    failed('transient', 'b', { retryAfterMs: 20_000 }),
  ];
  expect(judgeFailures(both, 3)).toEqual({ kind: 'later', error: 'a; then b', waitMs: 20_000, waits: 4 });
});

test('an open circuit is waited for however short its wait, and so is one that only the first model named', () => {
  expect(judgeFailures([circuit(5_000)], 0)).toMatchObject({ kind: 'later', waitMs: 5_000 });
  const refused = failed('refused', 'no such key');
  expect(judgeFailures([circuit(20_000), refused], 0)).toMatchObject({ kind: 'later', waitMs: 20_000 });
});

test('after so many waits the step fails with a sentence that says so', () => {
  expect(judgeFailures([circuit(30_000)], MOST_WAITS - 1).kind).toBe('later');
  expect(judgeFailures([circuit(30_000)], MOST_WAITS)).toEqual({
    kind: 'fail',
    error: `given up after waiting ${MOST_WAITS} times for a model that answers: down`,
  });
});

test('what no other model would take is told by its own words, whatever failed before it', () => {
  const busy = failed('overloaded', 'busy', { retryAfterMs: 60_000 });
  expect(judgeFailures([busy, failed('refused', 'bad request', { ours: true })], 0)).toEqual({
    kind: 'fail',
    error: 'bad request',
  });
  expect(judgeFailures([busy, failed('overflow', 'too long')], 0)).toMatchObject({
    kind: 'overflow',
    error: 'too long',
    model: { id: 'too long' },
  });
});

test('without a wait the step fails with the words of each model', () => {
  const all = [failed('transient', 'a broke off'), failed('refused', 'b has no key')];
  expect(judgeFailures(all, 0)).toEqual({ kind: 'fail', error: 'a broke off; then b has no key' });
});
