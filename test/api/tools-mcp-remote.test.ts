import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { McpToolPlan } from '../../src/format/model.js';
import { freePort } from '../../src/platform/embedded/free-port.js';
import { createNet } from '../../src/platform/net/index.js';
import { createLaneServers } from '../../src/tools/index.js';
import { givenSecrets } from '../support/given-secrets.js';
import { type LocalServer, type Respond, startLocalServer } from '../support/local-server.js';
import { createToolLane } from '../support/tool-lane.js';

const secrets = givenSecrets({ KEY: 'hunter2-hunter2' });

async function lane(url: string, more: Partial<McpToolPlan> = {}) {
  const tool: McpToolPlan = {
    transport: 'mcp',
    name: 'far',
    description: 'Far away.',
    path: 'tools/far.md',
    secrets: ['KEY'],
    url,
    headers: { Authorization: 'Bearer ${KEY}' },
    args: [],
    env: {},
    ...more,
  };
  const made = await createToolLane({ agent: { tools: [tool] } });
  const config = { ...made.deps.config, allowHosts: [{ host: '127.0.0.1', port: null }] };
  const servers = createLaneServers({ ...made.deps, net: createNet({ config }) }, new AbortController().signal);
  onTestFinished(() => servers.close());
  const own = { servers, secrets };
  return {
    servers,
    ok: (name: string, args = {}, change = {}) => made.ok(name, args, { ...own, ...change }),
    fails: (name: string, args = {}, change = {}) => made.fails(name, args, { ...own, ...change }),
  };
}

type Asked = { readonly id?: number; readonly method: string; readonly params?: Record<string, unknown> };
type Answers = (asked: Asked, response: ServerResponse, request: LocalServer['requests'][number]) => unknown;

/** A server over streamable HTTP that says hello and lists the tool `do`; what else it does is the test's. */
function serve(answers: Answers): Promise<LocalServer> {
  const respond: Respond = async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const asked = JSON.parse(request.body) as Asked;
    const known: Record<string, unknown> = {
      initialize: {
        protocolVersion: asked.params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'n', version: '1' },
      },
      'tools/list': { tools: [{ name: 'do', inputSchema: { type: 'object' } }] },
    };
    if (asked.id === undefined) return void response.writeHead(202).end();
    const answer = await answers(asked, response, request);
    const result = answer === undefined ? known[asked.method] : answer;
    if (response.writableEnded || response.headersSent || result === null) return;
    const head = { 'content-type': 'application/json', 'mcp-session-id': 's1' };
    response.writeHead(200, head).end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result }));
  };
  return startLocalServer(respond);
}

const onCall =
  (then: Answers): Answers =>
  (asked, response, request) =>
    asked.method === 'tools/call' ? then(asked, response, request) : undefined;

test('a secret goes out in the header as the request leaves, to that origin and no other, and comes back to nobody', async () => {
  const other = await startLocalServer((_request, response) => void response.end('{}'));
  const server = await serve(
    onCall((_asked, _response, { headers }) => ({
      content: [{ type: 'text', text: `you sent ${headers.authorization}` }],
    })),
  );
  const { ok, servers } = await lane(`${server.url}/mcp`);
  expect(await ok('far__do')).toBe('you sent Bearer [secret KEY]');
  for (const { headers } of server.requests) expect(headers.authorization).toBe('Bearer hunter2-hunter2');
  await servers.leaveStep();
  await expect.poll(() => server.requests.map(({ method }) => method)).toContain('DELETE');
  const before = server.requests.length;
  // The list is known: only the call itself goes out, in a session of its own.
  expect(await ok('far__do')).toBe('you sent Bearer [secret KEY]');
  expect(server.requests.slice(before).map(({ body }) => body.includes('tools/list'))).not.toContain(true);

  for (const location of [`${other.url}/mcp`, `http://localhost:${other.port}/`]) {
    const away = await startLocalServer((_request, response) => void response.writeHead(307, { location }).end());
    expect(await (await lane(away.url)).fails('far')).toContain('cannot be used in this step: ');
  }
  expect(other.requests).toEqual([]);
  expect(await (await lane(server.url)).fails('far', {}, { secrets: givenSecrets({}) })).toContain(
    'needs the secret KEY',
  );
  expect(await (await lane('http://10.1.2.3/mcp', { headers: {}, secrets: [] })).fails('far')).toContain(
    'private address',
  );
});

test('a hostile remote server costs its call and nothing else', async () => {
  let how = 'well';
  const kinds: Record<string, (response: ServerResponse) => unknown> = {
    well: () => ({ content: [{ type: 'text', text: 'well' }] }),
    silent: () => null,
    html: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hunter2-hunter2</h1>'),
    json: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":'),
    other: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}'),
    status: (response) => response.writeHead(500).end('token hunter2-hunter2 is bad'),
    denied: (response) => response.writeHead(403).end(),
    cut: (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{');
      response.destroy();
    },
    huge: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: ');
      const piece = 'x'.repeat(1 << 20);
      const more = () => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
  };
  const server = await serve(
    onCall((_asked, response) => kinds[how]?.(response) && (how === 'well' ? kinds.well?.(response) : null)),
  );
  const { ok, fails } = await lane(server.url, { timeoutMs: 3_000 });
  expect(await ok('far__do')).toBe('well');
  const said = new Map<string, string>();
  for (how of Object.keys(kinds).filter((kind) => kind !== 'well')) said.set(how, await fails('far__do'));
  how = 'well';
  expect(await ok('far__do')).toContain('well');
  expect([...said.values()].join('\n')).not.toContain('hunter2-hunter2');
  expect(said.get('silent')).toContain('did not answer within 3 s, and may have done what was asked');
  expect(said.get('status')).toBe('far: it answers with status 500 (token [secret KEY] is bad)');
  expect(said.get('denied')).toContain('status 403: check the headers that the tool declares');
  expect(said.get('html')).toContain('text/html');
  expect(said.get('json')).toBe('far: its answer is not valid JSON');
  expect(said.get('other')).toBe('far: its answer is not a message of the protocol');
  expect(said.get('cut')).toContain('far: ');
  expect(said.get('huge')).toContain('far: ');
});

test('an integer beyond 2^53 is exact in structured content, as JSON and in an event stream, and in arguments', async () => {
  let isStream = false;
  const server = await serve(
    onCall(({ id }, response) => {
      const result = `{"content":[],"structuredContent":{"id":2512292042121000001,"text":"2512292042121000001"}}`;
      const message = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      response.end(isStream ? `id: 2512292042121000001\r\ndata: ${message}\r\n\r\n` : message);
      return null;
    }),
  );
  const { ok } = await lane(server.url);
  for (isStream of [false, true])
    expect(await ok('far__do', { id: 2512292042121000001n })).toBe(
      '{"id":2512292042121000001,"text":"2512292042121000001"}',
    );
  const sent = server.requests.map(({ body }) => body).filter((body) => body.includes('tools/call'));
  expect(sent.map((body) => body.includes('"arguments":{"id":2512292042121000001}'))).toEqual([true, true]);
});

test('a session that the server has forgotten is begun anew, and the call made once', async () => {
  let sessions = 0;
  let calls = 0;
  const server = await serve((asked, response) => {
    if (asked.method === 'initialize') sessions += 1;
    if (asked.method !== 'tools/call') return undefined;
    if (sessions === 1) return void response.writeHead(404).end();
    calls += 1;
    return { content: [{ type: 'text', text: 'done' }] };
  });
  expect(await (await lane(server.url)).ok('far__do')).toBe('done');
  expect({ sessions, calls }).toEqual({ sessions: 2, calls: 1 });
});

test.each([
  ['streamableHttp', '/mcp'],
  ['sse', '/sse'],
])('the reference server works over %s', async (mode, path) => {
  const port = await freePort();
  const entry = new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url);
  const child = spawn(process.execPath, [entry.pathname, mode], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words += chunk.toString('utf8');
  });
  const gone = once(child, 'exit').then(() => true);
  await expect.poll(() => words).toContain(`port ${port}`);
  const { ok } = await lane(`http://127.0.0.1:${port}${path}`);
  expect(await ok('far__echo', { message: 'hello' })).toBe('Echo: hello');
  const told: string[] = [];
  const onOutput = (chunk: string) => told.push(chunk);
  expect(await ok('far__trigger-long-running-operation', { duration: 1, steps: 2 }, { onOutput })).toContain(
    'completed',
  );
  expect(told).toContain('1 of 2\n');
  child.kill('SIGKILL');
  await gone;
});
