import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ChatMessage, ToolSpec } from '../../src/models/contract.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { ask, modelsOf, modelsOfFile, single } from '../support/models-fixture.js';

const search: ToolSpec = {
  name: 'search',
  description: 'Finds things.',
  parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
};

let provider: FakeProvider;
beforeEach(async () => {
  provider = await startFakeProvider();
});
afterEach(() => provider.close());

/** The same provider, spoken to over each of the four wires. */
function models() {
  const base = new URL(provider.url);
  const file = {
    models: {
      compatible: { provider: 'openai-compatible', baseUrl: provider.url, key: 'KEY', model: 'm' },
      openai: { provider: 'openai', baseUrl: provider.url, key: 'KEY', model: 'gpt-5-mini' },
      anthropic: { provider: 'anthropic', baseUrl: provider.url, key: 'KEY', model: 'claude-sonnet-4-5' },
      google: { provider: 'google', baseUrl: `${base.origin}/v1beta`, key: 'KEY', model: 'gemini-2.5-pro' },
    },
  };
  return modelsOfFile(JSON.stringify(file), { KEY: 'sk-secret-key' });
}
const WIRES = ['compatible', 'openai', 'anthropic', 'google'] as const;

test.each(WIRES)('%s streams its text piece by piece and tells what it used', async (name) => {
  provider.respond(() => ({ text: 'one two three', usage: { input: 100, output: 7, cached: 40 } }));
  const pieces: string[] = [];
  const [model] = models().resolve(name, {});
  const reply = await models().call(ask(model, { onDelta: (text) => pieces.push(text) }));

  expect(reply).toMatchObject({ text: 'one two three', calls: [], finish: 'stop', estimated: false });
  expect(reply.usage).toEqual({ input: 100, output: 7, cached: 40 });
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.join('')).toBe('one two three');
});

test.each(WIRES)('%s is sent the idempotency key and its own key, once', async (name) => {
  const [model] = models().resolve(name, {});
  await models().call(ask(model, { idempotencyKey: 'run-1/call-7' }));

  expect(provider.byKey()).toEqual(new Map([['run-1/call-7', 1]]));
  expect(JSON.stringify(provider.calls[0]?.headers)).toContain('sk-secret-key');
});

test.each(WIRES)('%s gives tool calls back for the engine to run, and takes their results', async (name) => {
  provider.respond(({ n }) =>
    n === 1 ? { calls: [{ name: 'search', args: { q: 'tea' }, id: 'c1' }] } : { text: 'found' },
  );
  const [model] = models().resolve(name, {});
  const first = await models().call(ask(model, { tools: [search] }));
  expect(first).toMatchObject({ finish: 'tool-calls', calls: [{ name: 'search', args: { q: 'tea' } }] });

  const [call] = first.calls;
  const messages: ChatMessage[] = [
    { role: 'user', text: 'Say something.' },
    { role: 'assistant', ...first },
    { role: 'tool', results: [{ callId: call?.id ?? '', name: 'search', text: 'green tea', isError: false }] },
  ];
  const second = await models().call(ask(model, { tools: [search], messages }));
  expect(second.text).toBe('found');
  expect(provider.calls[1]?.prompt).toContain('green tea');
  expect(provider.calls[1]?.prompt).toContain('search');
});

test.each(WIRES.filter((name) => name !== 'google'))('%s: arguments that are no JSON come back raw', async (name) => {
  provider.respond(() => ({ calls: [{ name: 'search', raw: '{"q": "tea' }] }));
  const [model] = models().resolve(name, {});
  const reply = await models().call(ask(model, { tools: [search] }));

  expect(reply.calls).toMatchObject([{ name: 'search', args: null, raw: '{"q": "tea' }]);
});

test('arguments that are JSON but no object come back raw', async () => {
  provider.respond(() => ({ calls: [{ name: 'search', raw: '["tea"]' }] }));
  const [model] = models().resolve('compatible', {});
  expect((await models().call(ask(model, { tools: [search] }))).calls).toMatchObject([{ args: null, raw: '["tea"]' }]);
});

test('a call of a tool that was not offered keeps its arguments', async () => {
  provider.respond(() => ({ calls: [{ name: 'nonesuch', args: { q: 'tea' } }] }));
  const [model] = models().resolve('compatible', {});
  const reply = await models().call(ask(model, { tools: [search] }));
  expect(reply.calls).toMatchObject([{ name: 'nonesuch', args: { q: 'tea' } }]);
});

test('a call without arguments has an empty object', async () => {
  provider.respond(() => ({ calls: [{ name: 'search', raw: '' }] }));
  const [model] = models().resolve('compatible', {});
  expect((await models().call(ask(model, { tools: [search] }))).calls).toMatchObject([{ args: {} }]);
});

const SIGNATURES = {
  openai: 'enc-of-reasoning',
  anthropic: 'sig-of-thinking',
  google: 'sig-of-search',
  compatible: 'I think of tea.',
} as const;

test.each(WIRES)('%s gets its reasoning back with the next turn, through storage as JSON', async (name) => {
  provider.respond(({ n }) =>
    n === 1
      ? { reasoning: 'I think of tea.', text: 'Looking.', calls: [{ name: 'search', args: { q: 'tea' }, id: 'c1' }] }
      : { text: 'done' },
  );
  const [model] = models().resolve(name, {});
  const first = await models().call(ask(model, { tools: [search] }));
  const { text, calls, opaque } = JSON.parse(
    JSON.stringify(first, (_key, value) => (typeof value === 'bigint' ? null : value)),
  );
  expect(opaque).toBeDefined();
  expect(JSON.stringify(opaque)).not.toContain('Looking.');

  await models().call(
    ask(model, {
      tools: [search],
      messages: [
        { role: 'user', text: 'Say something.' },
        { role: 'assistant', text, calls, opaque },
        { role: 'tool', results: [{ callId: calls[0].id, name: 'search', text: 'green', isError: false }] },
      ],
    }),
  );
  expect(provider.calls[1]?.prompt).toContain(SIGNATURES[name]);
  expect(provider.calls[1]?.prompt).toContain('Looking.');
});

test('what one model kept is not sent to another', async () => {
  provider.respond(({ n }) => (n === 1 ? { reasoning: 'hm', text: 'Looking.' } : { text: 'done' }));
  const [claude] = models().resolve('anthropic', {});
  const [gpt] = models().resolve('openai', {});
  const first = await models().call(ask(claude));
  const messages: ChatMessage[] = [
    { role: 'user', text: 'a' },
    { role: 'assistant', ...first },
    { role: 'user', text: 'b' },
  ];
  await models().call(ask(gpt, { messages }));
  expect(provider.calls[1]?.prompt).toContain('Looking.');
  expect(provider.calls[1]?.prompt).not.toContain('sig-of-thinking');
});

test('a turn whose text was changed since goes back without its signatures', async () => {
  provider.respond(({ n }) => (n === 1 ? { reasoning: 'hm', text: 'Looking.' } : { text: 'done' }));
  const [model] = models().resolve('anthropic', {});
  const first = await models().call(ask(model));
  const said: ChatMessage = { role: 'assistant', ...first, text: '[saved]' };
  await models().call(ask(model, { messages: [{ role: 'user', text: 'a' }, said, { role: 'user', text: 'b' }] }));
  expect(provider.calls[1]?.prompt).toContain('[saved]');
  expect(provider.calls[1]?.prompt).not.toContain('sig-of-thinking');
});

test('Anthropic is told where the prompt may be cached', async () => {
  const [model] = models().resolve('anthropic', {});
  await models().call(ask(model));
  expect(provider.calls[0]?.body.system[0]).toMatchObject({ cache_control: { type: 'ephemeral' } });
  expect(provider.calls[0]?.body.messages[0].content[0]).toMatchObject({ cache_control: { type: 'ephemeral' } });
});

test('OpenAI is told to store nothing', async () => {
  const [model] = models().resolve('openai', {});
  await models().call(ask(model));
  expect(provider.calls[0]?.body.store).toBe(false);
});

test('temperature and the clamp of output tokens reach the provider', async () => {
  const [model] = models().resolve('compatible', {});
  await models().call(ask(model, { temperature: 0.25, maxOutputTokens: 77 }));
  expect(provider.calls[0]?.body).toMatchObject({ temperature: 0.25, max_tokens: 77, stream: true });
});

test('an answer that ran out of tokens says so', async () => {
  provider.respond(() => ({ text: 'half an', finish: 'length' }));
  const [model] = models().resolve('compatible', {});
  expect(await models().call(ask(model))).toMatchObject({ text: 'half an', finish: 'length' });
});

test('a server that says `stop` though it calls tools is understood', async () => {
  provider.respond(() => ({ calls: [{ name: 'search', args: { q: 'tea' } }], finish: 'stop' }));
  const [model] = models().resolve('compatible', {});
  expect((await models().call(ask(model, { tools: [search] }))).finish).toBe('tool-calls');
});

test('a listener that throws does not cost the answer', async () => {
  const models = modelsOf(single(provider.url));
  const [model] = models.resolve(null, {});
  const onDelta = () => {
    throw new Error('the page went away');
  };
  expect((await models.call(ask(model, { onDelta }))).text).toBe('ok');
});

test('without a key none is sent', async () => {
  const models = modelsOf(single(provider.url, { apiKey: null }));
  const [model] = models.resolve(null, {});
  await models.call(ask(model));
  expect(provider.calls[0]?.headers.authorization).toBeUndefined();
});

test('a resolved model that went through storage can still be called', async () => {
  const models = modelsOf(single(provider.url));
  const [model] = models.resolve('any/name', {});
  expect((await models.call(ask(JSON.parse(JSON.stringify(model))))).text).toBe('ok');
});
