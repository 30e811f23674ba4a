import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ModelError, type ModelErrorKind } from '../../src/models/contract.js';
import { type FakeAnswer, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { ask, modelsOf, modelsOfFile, single } from '../support/models-fixture.js';

let provider: FakeProvider;
beforeEach(async () => {
  provider = await startFakeProvider();
});
afterEach(() => provider.close());

/** The ModelError of a call; anything else fails the test. */
async function failureOf(call: Promise<unknown>): Promise<ModelError> {
  const error = await call.then(
    () => new Error('the call did not fail'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ModelError) return error;
  throw error;
}

async function failWith(answer: FakeAnswer, more: { now?: () => number; idleMs?: number } = {}): Promise<ModelError> {
  provider.respond(() => answer);
  const models = modelsOf(single(provider.url), more);
  return failureOf(models.call(ask(models.resolve(null, {})[0])));
}

const said = (message: string, more: object = {}) => JSON.stringify({ error: { message, ...more } });

const STATUSES: [number, ModelErrorKind][] = [
  [400, 'refused'],
  [401, 'refused'],
  [402, 'refused'],
  [403, 'refused'],
  [404, 'refused'],
  [408, 'transient'],
  [413, 'overflow'],
  [422, 'refused'],
  [429, 'overloaded'],
  [500, 'transient'],
  [502, 'transient'],
  [503, 'overloaded'],
  [504, 'transient'],
  [529, 'overloaded'],
];
test.each(STATUSES)('an answer of %i is %s, with the words of the provider', async (status, kind) => {
  const error = await failWith({ status, body: said('the kettle is cold') });
  expect(error.kind).toBe(kind);
  expect(error.message).toContain(`answered ${status}: the kettle is cold`);
  expect(error.message).toContain(provider.url);
});

test.each([
  [400, said("This model's maximum context length is 128000 tokens.", { code: 'context_length_exceeded' })],
  [
    400,
    JSON.stringify({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    }),
  ],
  [
    400,
    said('The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', {
      status: 'INVALID_ARGUMENT',
    }),
  ],
  [400, said('the request exceeds the available context size', { type: 'exceed_context_size_error' })],
  [422, said('inputs exceed the context window')],
])('%i with a context that does not fit is overflow: %s', async (status, body) => {
  expect((await failWith({ status, body })).kind).toBe('overflow');
});

test('a quota that is spent is final, though its status is that of a busy provider', async () => {
  const error = await failWith({
    status: 429,
    body: said('You exceeded your current quota', { code: 'insufficient_quota' }),
  });
  expect(error.kind).toBe('refused');
});

const NOW = Date.UTC(2026, 10, 27, 12, 0, 0);
test.each([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': 'Fri, 27 Nov 2026 12:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Fri, 27 Nov 2026 11:00:00 GMT' }, 0],
  [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
  [{ 'retry-after': '99999999' }, 86_400_000],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '-5' }, null],
  [{}, null],
])('a wait of %j is %s ms', async (headers, wait) => {
  const error = await failWith({ status: 429, headers, body: said('slow down') }, { now: () => NOW });
  expect(error.retryAfterMs).toBe(wait);
});

test('the wait that Google tells in the body is read', async () => {
  const body = JSON.stringify([
    { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'busy', details: [{ retryDelay: '19s' }] } },
  ]);
  const error = await failWith({ status: 429, body });
  expect([error.kind, error.retryAfterMs]).toEqual(['overloaded', 19_000]);
  expect(error.message).toContain('busy');
});

test('an error page is told by its title, not by its markup', async () => {
  const page = '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><script>x</script></body></html>';
  const error = await failWith({ status: 502, headers: { 'content-type': 'text/html' }, body: page });
  expect(error.kind).toBe('transient');
  expect(error.message).toContain('a web page: 502 Bad Gateway');
  expect(error.message).not.toContain('<');
});

test('an error without a body is told by its status', async () => {
  const error = await failWith({ status: 500, body: '' });
  expect(error.message).toContain('answered 500');
});

test('a web page where a stream should be points at the base URL', async () => {
  const error = await failWith({
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<html><title>Welcome</title></html>',
  });
  expect(error.kind).toBe('refused');
  expect(error.message).toMatch(/Welcome.*Is the base URL right\?/);
});

test('a server that does not stream points at the base URL', async () => {
  const error = await failWith({ body: JSON.stringify({ id: '1', choices: [] }) });
  expect(error.kind).toBe('refused');
  expect(error.message).toContain('answered without streaming');
});

test.each([
  [{ error: { code: 429, message: 'upstream is busy' } }, 'overloaded'],
  [{ error: { code: 502, message: 'upstream is down' } }, 'transient'],
  [{ error: { type: 'invalid_request_error', message: 'no such model' } }, 'refused'],
] as const)('an error in an answer of 200 is an error: %j', async (body, kind) => {
  const error = await failWith({ body: JSON.stringify(body) });
  expect(error.kind).toBe(kind);
  expect(error.message).toContain(body.error.message);
});

test('a redirect is not followed, since the key would go along', async () => {
  const other = await startFakeProvider();
  const error = await failWith({ status: 307, headers: { location: `${other.url}/chat/completions` }, body: '' });
  expect(error.kind).toBe('refused');
  expect(error.message).toContain('redirects to');
  expect(other.calls).toHaveLength(0);
  await other.close();
});

test.each([
  ['no answer at all', { cutAfter: -1 }],
  ['an empty body', { events: [] }],
  ['a cut after the first word', { text: 'one two three', cutAfter: 2 }],
  ['an end without a reason', { text: 'one two three', endAfter: 3 }],
  ['an end within a chunk', { events: ['data: {"choices": [\n\n'] }],
] as const)('%s is transient', async (_name, answer) => {
  const error = await failWith(answer);
  expect(error.kind).toBe('transient');
  expect(error.message).toContain(provider.url);
});

const WIRES = ['compatible', 'openai', 'anthropic', 'google'] as const;
function modelsOfWires() {
  const base = { key: 'KEY', baseUrl: provider.url };
  const file = {
    models: {
      compatible: { ...base, provider: 'openai-compatible', model: 'm' },
      openai: { ...base, provider: 'openai', model: 'gpt-5-mini' },
      anthropic: { ...base, provider: 'anthropic', model: 'claude-sonnet-4-5' },
      google: { ...base, provider: 'google', model: 'gemini-2.5-pro' },
    },
  };
  return modelsOfFile(JSON.stringify(file), { KEY: 'sk-secret-key' });
}

test.each(WIRES)('%s: a stream that is cut or just ends is transient, never a short answer', async (name) => {
  const models = modelsOfWires();
  const [model] = models.resolve(name, {});
  for (const answer of [{ cutAfter: 3 }, { endAfter: 3 }, { endAfter: 0 }, { cutAfter: -1 }]) {
    provider.respond(() => ({ text: 'one two three four five six', ...answer }));
    expect([answer, (await failureOf(models.call(ask(model)))).kind]).toEqual([answer, 'transient']);
  }
});

test.each([
  ['compatible', 'data: {"error":{"message":"engine is busy","code":"rate_limit_exceeded"}}\n\n', 'overloaded'],
  ['compatible', 'data: {"error":{"message":"engine is busy","code":503}}\n\n', 'overloaded'],
  ['compatible', 'data: {"error":{"message":"engine is busy: context_length_exceeded"}}\n\n', 'overflow'],
  [
    'anthropic',
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"engine is busy"}}\n\n',
    'overloaded',
  ],
  [
    'anthropic',
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"engine is busy"}}\n\n',
    'transient',
  ],
  ['google', 'data: {"error":{"code":503,"message":"engine is busy","status":"UNAVAILABLE"}}\n\n', 'overloaded'],
  [
    'openai',
    'event: error\ndata: {"type":"error","sequence_number":1,"error":{"type":"server_error","code":"server_error","message":"engine is busy","param":null}}\n\n',
    'transient',
  ],
  [
    'openai',
    'event: error\ndata: {"type":"error","sequence_number":1,"error":{"type":"requests","code":"rate_limit_exceeded","message":"engine is busy","param":null}}\n\n',
    'overloaded',
  ],
] as const)('%s: an error within the stream is read: %s', async (name, event, kind) => {
  provider.respond(() => ({ events: [event] }));
  const models = modelsOfWires();
  const error = await failureOf(models.call(ask(models.resolve(name, {})[0])));
  expect(error.message).toContain('engine is busy');
  expect(error.kind).toBe(kind);
});

test('an overloaded provider that says so after some text is overloaded', async () => {
  const start = {
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'c',
      content: [],
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  };
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'so' } };
  const failed = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  provider.respond(() => ({
    events: [start, block, failed].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  }));
  const models = modelsOfWires();
  expect((await failureOf(models.call(ask(models.resolve('anthropic', {})[0])))).kind).toBe('overloaded');
});

test('nobody listening is transient and says to look at the base URL', async () => {
  const url = provider.url;
  await provider.close();
  const models = modelsOf(single(url));
  const error = await failureOf(models.call(ask(models.resolve(null, {})[0])));
  expect(error.kind).toBe('transient');
  expect(error.message).toMatch(/refused the connection: is it running, and is the base URL right\? \(ECONNREFUSED\)/);
});

test('a host that does not exist is transient and named', async () => {
  const models = modelsOf(single('http://no-such-host.invalid/v1'));
  const error = await failureOf(models.call(ask(models.resolve(null, {})[0])));
  expect(error.kind).toBe('transient');
  expect(error.message).toMatch(/no-such-host\.invalid.*(ENOTFOUND|EAI_AGAIN)/);
});

test('TLS where there is none is transient', async () => {
  const models = modelsOf(single(provider.url.replace('http:', 'https:')));
  const error = await failureOf(models.call(ask(models.resolve(null, {})[0])));
  expect(error.kind).toBe('transient');
  expect(error.message).toMatch(/SSL|TLS|certificate/i);
});

test('what is no HTTP at all is transient', async () => {
  const server = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9\r\n'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const models = modelsOf(single(`http://127.0.0.1:${port}/v1`));
  expect((await failureOf(models.call(ask(models.resolve(null, {})[0])))).kind).toBe('transient');
  server.close();
});

test.each([
  ['before the first byte', { delayMs: 60_000 }],
  ['within the stream', { text: 'one two three', hangAfter: 2 }],
] as const)('silence %s is given up and transient', async (_name, answer) => {
  const error = await failWith(answer, { idleMs: 150 });
  expect(error.kind).toBe('transient');
  expect(error.message).toContain('sent nothing for 0.15 s');
});

test('a slow stream that never falls silent is heard to the end', async () => {
  provider.respond(() => ({ text: 'one two three four five six', eventDelayMs: 60 }));
  const models = modelsOf(single(provider.url), { idleMs: 300 });
  expect((await models.call(ask(models.resolve(null, {})[0]))).text).toBe('one two three four five six');
});

test('a stop within the stream ends the call at once, and the connection with it', async () => {
  provider.respond(() => ({ text: 'one two three', hangAfter: 3 }));
  const stop = new AbortController();
  const models = modelsOf(single(provider.url));
  const onDelta = () => stop.abort(new Error('lane fenced'));
  const error = await failureOf(models.call(ask(models.resolve(null, {})[0], { signal: stop.signal, onDelta })));
  expect(error.kind).toBe('aborted');
  await expect.poll(() => provider.calls[0]?.hungUp()).toBe(true);
});

test('a call that was stopped before it began reaches nobody', async () => {
  const models = modelsOf(single(provider.url));
  const error = await failureOf(models.call(ask(models.resolve(null, {})[0], { signal: AbortSignal.abort() })));
  expect(error.kind).toBe('aborted');
  expect(provider.calls).toHaveLength(0);
});

test('security 18: no message carries the key, however the provider echoes it', async () => {
  const echoes: FakeAnswer[] = [
    { status: 401, body: said('bad key sk-secret-key, truly sk-secret-key') },
    { status: 500, body: 'sk-secret-key' },
    { events: ['data: {"error":{"message":"sk-secret-key is bad"}}\n\n'] },
    { events: ['data: sk-secret-key\n\n'] },
    { body: JSON.stringify({ said: 'sk-secret-key' }) },
    { status: 302, headers: { location: 'http://elsewhere/?k=sk-secret-key' }, body: '' },
  ];
  for (const echo of echoes) {
    const error = await failWith(echo);
    expect(error.message).not.toContain('sk-secret-key');
    expect(error.message).toContain('[key]');
  }
});

test('security 18: a password within a base URL is in no message', async () => {
  const models = modelsOf(single(provider.url.replace('//', '//me:hidden@')));
  const error = await failureOf(models.call(ask(models.resolve(null, {})[0])));
  expect(error.message).toContain('127.0.0.1');
  expect(error.message).not.toContain('hidden');
});

test('a model that is no longer configured is refused by name', async () => {
  const models = modelsOf(single(provider.url));
  const [model] = modelsOfWires().resolve('anthropic', {});
  expect((await failureOf(models.call(ask(model)))).message).toContain('anthropic is no longer configured');
});

const OURS: [number, string, boolean][] = [
  [400, said('messages: at least one message is required'), true],
  [422, said('tools.0.name: string does not match'), true],
  [400, said('Your credit balance is too low to access the API.'), false],
  [400, said('API key not valid. Please pass a valid API key.', { status: 'INVALID_ARGUMENT' }), false],
  [400, said('Invalid model name passed in model=gpt-x'), false],
  [400, said('The model `gpt-x` does not exist or you do not have access to it.'), false],
  [401, said('wrong key'), false],
  [403, said('not for this project'), false],
  [404, said('no such model'), false],
  [429, said('You exceeded your current quota', { code: 'insufficient_quota' }), false],
];
test.each(OURS)('%i %s: whether another model would be sent the same is %s', async (status, body, ours) => {
  expect(await failWith({ status, body })).toMatchObject({ kind: 'refused', ours });
});

test('keep-alives alone are silence: a server that sends nothing else is given up', async () => {
  const error = await failWith(
    { events: Array<string>(200).fill(': keep-alive\n\n'), eventDelayMs: 20 },
    { idleMs: 200 },
  );
  expect([error.kind, error.brief]).toEqual(['transient', 'sent nothing but signs of life for 0.2 s']);
});

test('security 18: what health may show of a failure has neither the key nor the words of the provider', async () => {
  for (const status of [500, 503]) {
    const error = await failWith({ status, body: said('sk-secret-key may not say: the secret prompt') });
    expect(error.brief).toBe(`answered ${status}`);
  }
  const event = `data: ${said('the secret prompt', { code: 503 })}\n\n`;
  expect((await failWith({ events: [event] })).brief).toBe('broke off its answer');
  expect((await failWith({ body: said('the secret prompt', { code: 503 }) })).brief).not.toContain('secret');
});
