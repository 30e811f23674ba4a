import { afterEach, beforeEach, expect, test } from 'vitest';
import { ModelError } from '../../src/models/contract.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { ask, modelsOfFile } from '../support/models-fixture.js';

let provider: FakeProvider;
beforeEach(async () => {
  provider = await startFakeProvider();
});
afterEach(() => provider.close());

type Wire = 'compatible' | 'openai' | 'anthropic' | 'google';

async function call(name: Wire, events: readonly string[]) {
  provider.respond(() => ({ events }));
  const base = { key: 'KEY', baseUrl: provider.url };
  const models = modelsOfFile(
    JSON.stringify({
      models: {
        compatible: { ...base, provider: 'openai-compatible', model: 'm' },
        openai: { ...base, provider: 'openai', model: 'gpt-5-mini' },
        anthropic: { ...base, provider: 'anthropic', model: 'claude-sonnet-4-5' },
        google: { ...base, provider: 'google', model: 'gemini-2.5-pro' },
      },
    }),
    { KEY: 'sk-secret-key' },
  );
  return models.call(ask(models.resolve(name, {})[0]));
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const text = (content: unknown) => data({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const STOP = data({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const DONE = 'data: [DONE]\n\n';

const ODD: [string, string[]][] = [
  ['an empty data line', ['data:\n\n', text('tea'), 'data: \n\n', STOP, DONE]],
  ['a heartbeat as text', ['data: heartbeat\n\n', text('tea'), 'data: OK\n\n', STOP, DONE]],
  ['null for an event', ['data: null\n\n', text('tea'), 'data: 17\n\n', STOP, DONE]],
  [
    'null for choices',
    [data({ id: '1', choices: null }), text('tea'), STOP, data({ choices: null, usage: null }), DONE],
  ],
  ['null for a choice', [data({ choices: [null] }), text('tea'), STOP, DONE]],
  ['null for a delta', [data({ choices: [{ delta: null }] }), text('tea'), STOP, DONE]],
  ['a choice that is not in a list', [data({ choices: { delta: { content: 'tea' } } }), STOP, DONE]],
  ['usage as text', [text('tea'), STOP, data({ choices: [], usage: 'none' }), DONE]],
  ['an error that is null', [data({ error: null, choices: [{ delta: { content: 'tea' } }] }), STOP, DONE]],
  ['a role of its own', [data({ choices: [{ delta: { role: 'model', content: 'tea' } }] }), STOP, DONE]],
  [
    'ids and times of other types',
    [data({ id: 7, created: '1', model: 3, choices: [{ delta: { content: 'tea' } }] }), STOP],
  ],
  ['content in parts', [text([{ type: 'text', text: 'te' }, 'a']), STOP, DONE]],
  ['no calls as null', [data({ choices: [{ delta: { content: 'tea', tool_calls: null } }] }), STOP, DONE]],
  ['an event of its own kind', [data({ object: 'queue.position', position: 3 }), text('tea'), STOP, DONE]],
  [
    'no blank line at the end',
    [text('tea'), `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}`],
  ],
  ['no blank lines between events', [`${(text('te') + text('a') + STOP + DONE).replaceAll('\n\n', '\n')}\n`]],
  ['line ends of two kinds', [text('tea').replaceAll('\n', '\r\n'), STOP.replaceAll('\n', '\r'), DONE]],
  ['a byte order mark', [`\uFEFF${text('tea')}`, STOP, DONE]],
];
test.each(ODD)('%s: the answer is read, by one call', async (_name, events) => {
  expect(await call('compatible', events)).toMatchObject({ text: 'tea', calls: [], finish: 'stop' });
  expect(provider.calls).toHaveLength(1);
});

test('token counts as text are counts', async () => {
  const usage = { prompt_tokens: '120', completion_tokens: '7', prompt_tokens_details: { cached_tokens: '100' } };
  for (const given of [usage, JSON.stringify(usage)]) {
    const reply = await call('compatible', [text('tea'), STOP, data({ choices: [], usage: given }), DONE]);
    expect(reply).toMatchObject({ usage: { input: 120, output: 7, cached: 100 }, estimated: false });
  }
});

const called = (delta: object) => data({ choices: [{ index: 0, delta, finish_reason: null }] });
const CALLED = data({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
const CALLS: [string, Wire, string[]][] = [
  [
    'an object',
    'compatible',
    [called({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: { q: 'tea' } } }] }), CALLED],
  ],
  [
    'a call that is not in a list',
    'compatible',
    [called({ tool_calls: { id: 'c1', function: { name: 'f', arguments: '{"q":"tea"}' } } }), CALLED],
  ],
  [
    'an id that is a number',
    'compatible',
    [called({ tool_calls: [{ index: '0', id: 7, function: { name: 'f', arguments: '{"q":"tea"}' } }] }), CALLED],
  ],
  [
    'null, then text',
    'compatible',
    [
      called({ tool_calls: [{ index: 0, id: 'c1', type: null, function: { name: 'f', arguments: null } }] }),
      called({ tool_calls: [{ index: 0, id: null, function: { name: null, arguments: '{"q":"tea"}' } }] }),
      CALLED,
    ],
  ],
  [
    'text',
    'google',
    [
      data({
        candidates: [
          { content: { parts: [{ functionCall: { name: 'f', args: '{"q":"tea"}' } }] }, finishReason: 'STOP' },
        ],
      }),
    ],
  ],
  [
    'an object in the start of a block',
    'anthropic',
    [
      { type: 'message_start', message: { id: 'm', model: 'c', role: 'assistant', content: null, usage: null } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'c1', name: 'f', input: { q: 'tea' } },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'queue_update', position: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: null },
      { type: 'message_stop' },
    ].map((event) => `event: ${event.type}\n${data(event)}`),
  ],
];
test.each(CALLS)('arguments as %s (%s) are arguments', async (_name, wire, events) => {
  expect(await call(wire, events)).toMatchObject({ calls: [{ name: 'f', args: { q: 'tea' } }], finish: 'tool-calls' });
});

async function failureOf(events: readonly string[]): Promise<ModelError> {
  const error = await call('compatible', events).catch((thrown: unknown) => thrown);
  if (error instanceof ModelError) return error;
  throw new Error('the call did not fail');
}

test.each([
  ['text alone', ['data: hello\n\n', 'data: world\n\n']],
  ['JSON of another kind', [data({ hello: 'world' })]],
  [
    'an event that is cut in the middle of the answer',
    [text('te'), 'data: {"choices":[{"delta":\n\n', text('a'), STOP, DONE],
  ],
])('%s cannot be read: it is refused, and not asked for again', async (_name, events) => {
  const error = await failureOf(events);
  expect([error.kind, error.ours, error.circuit]).toEqual(['refused', false, false]);
  expect(error.message).toContain('sent what cannot be read as an answer');
});

test('an event that is cut at the end is a cut stream, which may end well the next time', async () => {
  expect((await failureOf([text('te'), 'data: {"choices":[{"delta":'])).kind).toBe('transient');
});
