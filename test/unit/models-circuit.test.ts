import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ModelError } from '../../src/models/contract.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { ask, modelsOf, single } from '../support/models-fixture.js';

let provider: FakeProvider;
let now = 0;
beforeEach(async () => {
  provider = await startFakeProvider();
  now = 1_000_000;
});
afterEach(() => provider.close());

function setUp() {
  const models = modelsOf(single(provider.url), { now: () => now });
  const [model] = models.resolve(null, {});
  const call = () =>
    models.call(ask(model)).then(
      (reply) => reply.text,
      (error: ModelError) => `${error.kind}`,
    );
  const times = async (n: number) => {
    for (let i = 0; i < n; i += 1) await call();
  };
  return { models, model, call, times };
}

const down = () => ({ status: 500, body: 'down' });

test('five failures in a row open the circuit: the provider is left alone for 30 s', async () => {
  const { models, model, call, times } = setUp();
  provider.respond(down);
  await times(4);
  expect(models.failing().filter(({ open }) => open)).toEqual([]);
  await times(1);
  expect(models.failing()).toEqual([
    {
      endpoint: `openai-compatible at ${provider.url}`,
      open: true,
      since: 1_000_000,
      until: now + 30_000,
      lastError: 'answered 500',
    },
  ]);

  now += 10_000;
  const error = await models.call(ask(model)).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: 'overloaded', retryAfterMs: 20_000 });
  expect(provider.calls).toHaveLength(5);
  now += 20_000;
  provider.respond(() => ({ text: 'back' }));
  expect(await call()).toBe('back');
  expect(models.failing().filter(({ open }) => open)).toEqual([]);
});

test('after 30 s one call probes while the others still wait', async () => {
  const { call, times } = setUp();
  provider.respond(down);
  await times(5);
  now += 30_000;
  provider.respond(() => ({ text: 'back', delayMs: 50 }));
  expect(await Promise.all([call(), call(), call()])).toEqual(['back', 'overloaded', 'overloaded']);
  expect(provider.calls).toHaveLength(6);
});

test('a probe that fails opens it anew', async () => {
  const { models, call, times } = setUp();
  provider.respond(down);
  await times(5);
  now += 30_000;
  expect(await call()).toBe('transient');
  expect(models.failing()).toMatchObject([{ until: now + 30_000 }]);
  expect(await call()).toBe('overloaded');
});

test('a probe that is stopped leaves the next call to probe', async () => {
  const { models, model, call, times } = setUp();
  provider.respond(down);
  await times(5);
  now += 30_000;
  await models.call(ask(model, { signal: AbortSignal.abort() })).catch(() => undefined);
  provider.respond(() => ({ text: 'back' }));
  expect(await call()).toBe('back');
});

test('failures that are spread over more than a minute do not open it', async () => {
  const { models, call } = setUp();
  provider.respond(down);
  for (let i = 0; i < 8; i += 1) {
    await call();
    now += 16_000;
  }
  expect(models.failing().filter(({ open }) => open)).toEqual([]);
});

test('an answer in between begins the count anew, a refusal too', async () => {
  const { models, times } = setUp();
  for (const between of [{ text: 'ok' }, { status: 401, body: '{}' }]) {
    provider.respond(down);
    await times(4);
    provider.respond(() => between);
    await times(1);
  }
  provider.respond(down);
  await times(4);
  expect(models.failing().filter(({ open }) => open)).toEqual([]);
});

test('the script of an agent opens no circuit', async () => {
  const { models } = setUp();
  const [model] = models.resolve('scripted/demo', {});
  const script = { yaml: '- error: transient', agent: 'a', step: 's', round: 1, turn: 0 };
  for (let i = 0; i < 7; i += 1) {
    const error = await models.call(ask(model, { script })).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'transient' });
  }
  expect(models.failing().filter(({ open }) => open)).toEqual([]);
});
