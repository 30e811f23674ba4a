// @ts-nocheck: a program of its own, written as one that knows no types.
// A server of the Model Context Protocol over standard streams, as its specification has it and as it must not be.
// The first argument says how it begins; its tools say what each does.
import { createInterface } from 'node:readline';

const [how = 'well'] = process.argv.slice(2);
// JSON.stringify writes no integer that a double does not hold: `#` before the digits of a text stands for a number.
const say = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message }).replace(/"#(\d+)"/g, '$1')}\n`);
const text = (words, more = {}) => ({ content: [{ type: 'text', text: words }], ...more });
const schema = { type: 'object', properties: {}, additionalProperties: true };
const tool = (name, more = {}) => ({ name, description: `Does ${name}.`, inputSchema: schema, ...more });
const asked = new Map();
let count = 0;
let extra = [];

/** Asks the client for what it does not offer, and tells what it answered. */
function ask(method, params) {
  const id = `ask-${method}`;
  say({ id, method, params });
  return new Promise((resolve) => asked.set(id, resolve));
}

const flood = (piece) => {
  const more = () => {
    while (process.stdout.write(piece));
  };
  process.stdout.on('drain', more);
  more();
};

const TOOLS = {
  count: () => {
    count += 1;
    return text(String(count));
  },
  env: () =>
    text(JSON.stringify({ token: process.env.TOKEN, cwd: process.cwd(), names: Object.keys(process.env).sort() })),
  args: (args) => text(JSON.stringify(args)),
  die: () => {
    process.stderr.write('out of cheese\n');
    process.exit(7);
  },
  silent: () => null,
  flood: () => void flood('x'.repeat(1 << 20)),
  spam: () =>
    void flood(
      `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(1 << 16) } })}\n`,
    ),
  print: () => {
    process.stdout.write('hello, I print\n{"jsonrpc": oh\n{"neither":"nor"}\n[1]\n\n');
    return text('printed');
  },
  fail: () => text('it went wrong', { isError: true }),
  throw: () => {
    throw new Error('thrown inside');
  },
  nonsense: () => ({ content: 7 }),
  strange: () => ({
    content: [
      { type: 'text', text: 'before', annotations: { priority: 'high' } },
      { type: 'hologram', data: 'x' },
      { type: 'card', text: 'of a card' },
      { type: 'image', data: Buffer.from('no type').toString('base64') },
      { type: 'resource_link', uri: 'demo://d' },
      7,
      { type: 'text', text: 'after' },
    ],
    structuredContent: [1],
  }),
  sample: async () => text(await ask('sampling/createMessage', { messages: [], maxTokens: 1 })),
  elicit: async () =>
    text(
      await ask('elicitation/create', {
        message: 'Your password?',
        requestedSchema: { type: 'object', properties: {} },
      }),
    ),
  roots: async () => text(await ask('roots/list', {})),
  picture: () => ({
    content: [
      { type: 'image', data: Buffer.from('not really a png').toString('base64'), mimeType: 'image/png' },
      { type: 'audio', data: Buffer.from('la').toString('base64'), mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'demo://a', text: 'inside', mimeType: 'text/plain' } },
      {
        type: 'resource',
        resource: {
          uri: 'demo://b',
          blob: Buffer.from(`%PDF ${process.env.TOKEN}`).toString('base64'),
          mimeType: 'application/pdf',
        },
      },
      { type: 'resource_link', uri: 'demo://c', name: 'see' },
    ],
  }),
  structured: () => ({ content: [{ type: 'text', text: '{ "a": 1 }' }], structuredContent: { a: 1 } }),
  repeats: ({ how }) => REPEATED[how],
  only_structured: () => ({ content: [], structuredContent: { b: [2] } }),
  exact: () => ({ content: [], structuredContent: { id: '#2512292042121000001' } }),
  change: () => {
    extra = extra.length === 0 ? ['newcomer'] : [];
    say({ method: 'notifications/tools/list_changed' });
    return text('changed');
  },
  forget: () => {
    delete TOOLS.count;
    say({ method: 'notifications/tools/list_changed' });
    return text('forgotten');
  },
  progress: (_args, { progressToken }) => {
    for (const progress of [1, 2])
      say({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 2, message: `step ${process.env.TOKEN}` },
      });
    return text('done');
  },
};

/** The same content as text and as structured content, as server libraries write it. */
const REPEATED = {
  order: {
    content: [{ type: 'text', text: '{\n  "b": 2,\n  "a": [1, 2]\n}' }],
    structuredContent: { a: [1, 2], b: 2 },
  },
  wrapped: text('Sunny.', { structuredContent: { result: 'Sunny.' } }),
  number: text('3', { structuredContent: { result: 3 } }),
  list: {
    content: [
      { type: 'text', text: '{"id":1}' },
      { type: 'text', text: 'two' },
    ],
    structuredContent: { result: [{ id: 1 }, 'two'] },
  },
  more: text('Found 1.', { structuredContent: { items: ['x'] } }),
  none: { content: [], structuredContent: { result: [] } },
};

const HINTS = { count: { annotations: { readOnlyHint: true } } };
const NAMES = ['a/b', 'a b', 'a_b', 'ü', `long-${'x'.repeat(80)}`, `long-${'x'.repeat(80)}y`];

function list({ cursor = '0' } = {}) {
  if (how === 'many') {
    const from = Number(cursor);
    const tools = Array.from({ length: 100 }, (_, i) => tool(`tool_${from + i}`));
    return { tools, ...(from + 100 < 10_000 && { nextCursor: String(from + 100) }) };
  }
  if (how === 'endless') return { tools: [tool(`t${cursor}`)], nextCursor: String(Number(cursor) + 1) };
  if (how === 'long') {
    const from = Number(cursor);
    const inputSchema = { type: 'object', description: 'x'.repeat(49_000) };
    const tools = Array.from({ length: 200 }, (_, i) => ({ name: `long_${from + i}`, inputSchema }));
    return { tools, nextCursor: String(from + 200) };
  }
  if (how === 'circle') return { tools: [tool('args')], nextCursor: 'again' };
  if (how === 'still') return { tools: [tool('args')], nextCursor: String(Number(cursor) + 1) };
  if (how === 'names') return { tools: NAMES.map((name) => tool(name)) };
  if (how === 'broken')
    return {
      tools: [
        null,
        7,
        { name: 5 },
        tool('good'),
        { name: 'bare' },
        tool('good', { description: 'twice' }),
        tool('wide', {
          description: 'd'.repeat(1 << 20),
          inputSchema: { type: 'object', description: 's'.repeat(1 << 20) },
        }),
      ],
    };
  if (how === 'look-ahead') {
    const to = { type: 'string', pattern: '^(?!\\.).+@.+$' };
    return { tools: [tool('args', { inputSchema: { type: 'object', properties: { to } } })] };
  }
  return { tools: [...Object.keys(TOOLS), ...extra].map((name) => tool(name, HINTS[name])) };
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: how === 'version' ? '1999-01-01' : protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'demo', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': list,
  'tools/call': ({ name, arguments: args, _meta }) => (how === 'names' ? text(name) : TOOLS[name](args, _meta ?? {})),
};

if (how === 'exit') {
  process.stderr.write('cannot find my configuration\n');
  process.exit(3);
}
if (how === 'fork')
  (await import('node:child_process')).spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref();

createInterface({ input: process.stdin }).on('line', async (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    asked.get(message.id)?.(JSON.stringify(message.error ?? message.result));
    return;
  }
  if (message.id === undefined || how === 'mute') return;
  const method = METHODS[message.method];
  if (!method) return say({ id: message.id, error: { code: -32601, message: 'Method not found' } });
  try {
    const result = await method(message.params ?? {});
    if (result) say({ id: message.id, result });
  } catch (error) {
    say({ id: message.id, error: { code: -32603, message: error.message } });
  }
});
