import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ModelEntry } from '../../src/models/catalogue/entry.js';
import { costOf } from '../../src/models/pricing/cost-of.js';
import { type FakeAnswer, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { ask, modelsOf, modelsOfFile, single } from '../support/models-fixture.js';
import { fc, runs } from '../support/properties.js';

let provider: FakeProvider;
beforeEach(async () => {
  provider = await startFakeProvider();
});
afterEach(() => provider.close());

async function replyOf(answer: FakeAnswer, prices: { priceIn?: number; priceOut?: number } = {}) {
  provider.respond(() => answer);
  const models = modelsOf(single(provider.url, prices));
  return models.call(ask(models.resolve(null, {})[0]));
}

test('security 31: what the provider says a call cost comes before the prices of the operator', async () => {
  const usage = { input: 1_000, output: 100, costUsd: 0.000_123_456_7 };
  const reply = await replyOf({ text: 'a', usage }, { priceIn: 1, priceOut: 2 });
  expect([reply.costNano, reply.costSource]).toEqual([123_457n, 'provider']);
});

test('a cost of zero that the provider tells is a cost', async () => {
  const reply = await replyOf({ text: 'a', usage: { input: 1, output: 1, costUsd: 0 } });
  expect([reply.costNano, reply.costSource]).toEqual([0n, 'provider']);
});

test.each([-5, 1e300])('a cost of %d is not believed', async (costUsd) => {
  const reply = await replyOf({ text: 'a', usage: { input: 1, output: 1, costUsd } });
  expect([reply.costNano, reply.costSource]).toEqual([null, 'none']);
});

test('the prices of the operator are USD a million tokens', async () => {
  const reply = await replyOf(
    { text: 'a', usage: { input: 1_000, output: 100, cached: 400 } },
    { priceIn: 1, priceOut: 2 },
  );
  expect([reply.costNano, reply.costSource]).toEqual([1_200_000n, 'operator']);
});

test('cached input has its own price where one is given', async () => {
  provider.respond(() => ({ text: 'a', usage: { input: 1_000, output: 0, cached: 400 } }));
  const entry = {
    provider: 'openai-compatible',
    baseUrl: provider.url,
    model: 'm',
    priceIn: 1,
    priceOut: 2,
    priceCached: 0.1,
  };
  const models = modelsOfFile(JSON.stringify({ models: { a: entry } }));
  const reply = await models.call(ask(models.resolve('a', {})[0]));
  // The output cannot be 0 tokens: it is reckoned as 1.
  expect(reply.costNano).toBe(600_000n + 40_000n + 2_000n);
});

test('without either the shipped table is asked, for the provider’s own address only', async () => {
  const usage = { input: 1_000_000, output: 1_000_000 };
  provider.respond(() => ({ text: 'a', usage }));
  const reply = await replyOf({ text: 'a', usage });
  expect([reply.costNano, reply.costSource]).toEqual([null, 'none']);

  const own = { ...single('https://api.openai.com/v1', { model: 'gpt-5-mini' }) };
  const elsewhere = { ...single(provider.url, { model: 'gpt-5-mini' }) };
  expect(modelsOf(own).resolve(null, {})).toMatchObject([
    { contextTokens: 400_000, price: { input: 250, output: 2_000, cached: 25, source: 'table' } },
  ]);
  expect(modelsOf(elsewhere).resolve(null, {})).toMatchObject([{ price: null }]);
  expect(
    modelsOf({ ...own, single: null, apiKeys: { openai: 'k' } }).resolve('openai/no-such-model', {}),
  ).toMatchObject([{ price: null }]);
});

const strange: FakeAnswer['usage'][] = [
  null,
  { input: 0, output: 0 },
  { input: -10, output: -5 },
  { input: -10, output: 5 },
];
test.each(strange)('security 31: usage of %j is reckoned from lengths, clamped and flagged', async (usage) => {
  const text = 'word '.repeat(100).trim();
  const reply = await replyOf({ text, usage }, { priceIn: 1, priceOut: 1 });
  expect(reply.estimated).toBe(true);
  expect(reply.usage.input).toBeGreaterThan(5);
  expect(reply.usage.output).toBe(usage?.output === 5 ? 5 : 125);
  expect(reply.costNano).toBeGreaterThan(0n);
});

test('more cached tokens than there is input are not believed', async () => {
  const reply = await replyOf(
    { text: 'a', usage: { input: 100, output: 1, cached: 5_000 } },
    { priceIn: 1, priceOut: 1 },
  );
  expect(reply.usage).toEqual({ input: 100, output: 1, cached: 100 });
});

test('security 31: whatever a provider tells, cost is a whole number of nano-USD and never below zero', async () => {
  const models = modelsOf(single(provider.url, { priceIn: 0.15, priceOut: 0.6 }));
  const count = fc.oneof(fc.integer(), fc.double());
  await fc.assert(
    fc.asyncProperty(count, count, count, fc.option(count), async (input, output, cached, costUsd) => {
      const usage = { input, output, cached, ...(costUsd === null ? {} : { costUsd }) };
      provider.respond(() => ({ text: 'some words', usage }));
      const reply = await models.call(ask(models.resolve(null, {})[0])).catch((error: { kind?: string }) => error);
      // What is no number on the wire (NaN is null there) is another shape of JSON at most, never a strange cost.
      if (!('costNano' in reply)) return expect(reply.kind).toBe('transient');
      expect(typeof reply.costNano).toBe('bigint');
      expect((reply.costNano ?? -1n) >= 0n).toBe(true);
      expect(Object.values(reply.usage).every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0)).toBe(true);
      expect(reply.usage.cached).toBeLessThanOrEqual(reply.usage.input);
    }),
    runs(60),
  );
});

const claude: ModelEntry = {
  via: 'a',
  provider: 'anthropic',
  id: 'claude-sonnet-4-5',
  baseUrl: null,
  key: 'k',
  contextTokens: null,
  price: null,
  idleMs: null,
  totalMs: null,
};

test('the table prices input, cached input, what was written to the cache and output each for itself', () => {
  const believed = { usage: { input: 1_000, output: 100, cached: 500 }, cacheWrite: 200, estimated: false };
  // 300 x $3, 500 x $0.30, 200 x $3.75 and 100 x $15, all a million.
  expect(costOf(claude, believed, null)).toEqual({ costNano: 3_300_000n, costSource: 'table' });
});

test('beyond its first tier the table asks the higher price for the whole prompt', () => {
  const believed = { usage: { input: 300_000, output: 0, cached: 0 }, cacheWrite: 0, estimated: false };
  expect(costOf(claude, believed, null).costNano).toBe(1_800_000_000n);
});
