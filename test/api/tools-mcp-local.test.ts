import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { beforeAll, expect, test } from 'vitest';
import type { McpToolPlan } from '../../src/format/model.js';
import { assembleTools } from '../../src/tools/index.js';
import { givenSecrets } from '../support/given-secrets.js';
import { registered } from '../support/test-sandbox.js';
import { createToolLane, type ToolLaneOptions } from '../support/tool-lane.js';

let server = '';
beforeAll(async () => {
  server = await readFile(new URL('../support/mcp-server.mjs', import.meta.url), 'utf8');
});

function plan(how: string, more: Partial<McpToolPlan> = {}): McpToolPlan {
  return {
    transport: 'mcp',
    name: 'srv',
    description: 'A server.',
    path: 'tools/srv/tool.md',
    secrets: [],
    headers: {},
    command: 'node',
    args: ['server.mjs', how],
    env: {},
    ...more,
  };
}

function lane(how = 'well', more: Partial<McpToolPlan> = {}, options: ToolLaneOptions = {}) {
  const files = { 'tools/srv/server.mjs': server, ...options.files };
  return createToolLane({ ...options, files, agent: { tools: [plan(how, more)], ...options.agent } });
}

async function names(how: string): Promise<string[]> {
  const { deps, context } = await lane(how, {}, { agent: { builtins: [], tools: [plan(how)] } });
  return (await assembleTools(deps, context)).map(({ spec }) => spec.name);
}

test('a local server has its own environment and folder, and is kept for the lane until that ends', async () => {
  const secrets = givenSecrets({ KEY: 'hunter2-hunter2', OTHER: 'not for it' });
  const { ok, context, deps } = await lane('fork', { env: { TOKEN: 'Bearer ${KEY}' }, secrets: ['KEY'] });
  const env = JSON.parse(await ok('srv__env', {}, { secrets })) as { token: string; cwd: string; names: string[] };
  expect(env).toMatchObject({ token: 'Bearer [secret KEY]', cwd: '/workspace/tools/srv' });
  const known = ['HOME', 'LANG', 'PATH', 'PWD', 'SHLVL', 'TERM', 'TMPDIR', 'TOKEN', '_'];
  expect(env.names.filter((name) => !known.includes(name))).toEqual([]);
  expect(await ok('srv__count', {}, { secrets })).toBe('1');
  expect(await ok('srv__count', {}, { secrets })).toBe('2');
  expect(await ok('srv__args', { a: { b: 1 } }, { secrets })).toBe('{"a":{"b":1}}');
  await context.servers.leaveStep();
  expect(await ok('srv__count', {}, { secrets })).toBe('3');
  expect(await registered(context.run.id)).toHaveLength(1);
  // A step that may not use the secret reaches no server that was started with it.
  const refused = await lane('well', { env: { TOKEN: '${KEY}' }, secrets: ['KEY'] });
  expect(await refused.fails('srv', {})).toContain('needs the secret KEY, which this step may not use');
  await context.servers.close();
  expect(await registered(context.run.id)).toEqual([]);
  expect(await deps.db.query('SELECT 1 FROM sandbox_process WHERE run_id = $1', [context.run.id])).toEqual([]);
});

test('what a server answers of every kind reaches the model, and what is no text is a file', async () => {
  const secrets = givenSecrets({ KEY: 'hunter2-hunter2' });
  const { ok, fails, call } = await lane('well', { env: { TOKEN: '${KEY}' }, secrets: ['KEY'] });
  const picture = await ok('srv__picture', {}, { secrets });
  expect(picture).toMatch(
    /^\[an image, 16 bytes: files\/srv-picture-\S+\.png\]\n\[audio, 2 bytes: files\/\S+\.wav\]\n\[demo:\/\/a\]\ninside\n\[demo:\/\/b, \d+ bytes: files\/(\S+\.pdf)\]\n\[link to demo:\/\/c: see\]$/,
  );
  const [pdf = ''] = /files\/\S+\.pdf/.exec(picture) ?? [];
  expect(await ok('Bash', { command: `cat ${pdf}` })).toBe('%PDF [secret KEY]');
  expect(await ok('srv__structured', {}, { secrets })).toBe('{ "a": 1 }');
  expect(await ok('srv__only_structured', {}, { secrets })).toBe('{"b":[2]}');
  expect(await ok('srv__exact', {}, { secrets })).toBe('{"id":2512292042121000001}');
  expect(await fails('srv__fail', {}, { secrets })).toBe('it went wrong');
  expect(await fails('srv__throw', {}, { secrets })).toBe('srv: it answers with the error -32603: thrown inside');
  expect(await fails('srv__nonsense', {}, { secrets })).toContain(
    'not a valid result of the protocol, and it may have done',
  );
  expect(await ok('srv__print', {}, { secrets })).toBe('printed');
  const told: string[] = [];
  await ok('srv__progress', {}, { secrets, onOutput: (chunk) => told.push(chunk) });
  expect(told).toEqual(['1 of 2: step [secret KEY]\n', '2 of 2: step [secret KEY]\n']);
  expect((await call('srv__picture', {}, { secrets })).left).toBe(true);
});

test('a server that asks for a model, a person or a folder is refused, and goes on', async () => {
  const { ok } = await lane();
  for (const tool of ['sample', 'elicit', 'roots']) {
    expect(JSON.parse(await ok(`srv__${tool}`, {}))).toMatchObject({ code: -32601 });
  }
});

test('a server that dies is started again once, and the model is told', async () => {
  const { ok, fails } = await lane();
  expect(await ok('srv__count', {})).toBe('1');
  expect(await fails('srv__die', {})).toBe(
    'srv: interrupted, may have partly run: it ended with exit status 7; its last words: out of cheese',
  );
  expect(await ok('srv__count', {})).toBe(
    '[the MCP server srv had ended (it ended with exit status 7; its last words: out of cheese) and was started again: what it had in memory is gone]\n1',
  );
  expect(await ok('srv__count', {})).toBe('2');
  await fails('srv__die', {});
  expect(await fails('srv__count', {})).toContain('srv: it has ended 2 times and is not started again: it ended with');
});

test('a server that never answers, or floods, costs its call and nothing else', async () => {
  const { ok, fails, deps, context } = await lane('well', { timeoutMs: 2_000 });
  expect(await fails('srv__silent', {})).toBe('srv: it did not answer within 2 s, and may have done what was asked');
  expect(await ok('srv__count', {})).toBe('1');
  const patient = await lane('well', { timeoutMs: 60_000 });
  expect(await patient.fails('srv__flood', {})).toContain('it sent a message of more than 16 MiB');
  expect(await patient.ok('srv__count', {})).toMatch(/started again.*\n1$/);
  expect(await patient.fails('srv__spam', {})).toContain('it sent more than 64 MiB without an answer');
  expect(await registered(patient.context.run.id)).toEqual([]);
  // The run's stop reaches a call that waits, and kills the program.
  const stop = new AbortController();
  const waiting = (await lane()).call('srv__silent', {}, { signal: stop.signal });
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow();
  await deps.sandbox.kill(context.run.id);
  expect(await registered(context.run.id)).toEqual([]);
});

test('a server that does not come up leaves a tool that says why, and the step goes on', async () => {
  const says = async (how: string, more: Partial<McpToolPlan> = {}) => {
    const { fails, ok } = await lane(how, more);
    const why = await fails('srv', {});
    expect(await ok('Bash', { command: 'echo on' })).toBe('on\n');
    return why;
  };
  expect(await says('exit')).toBe(
    'the MCP server srv cannot be used in this step: it ended with exit status 3; its last words: cannot find my configuration',
  );
  expect(await says('version')).toContain('protocol version is not supported: 1999-01-01');
  expect(await says('well', { command: 'no-such-program' })).toContain('no-such-program');
  expect(await says('long')).toContain('its list of tools is longer than 32 MiB');
  const endless = await lane('endless');
  expect(await endless.fails('srv', {})).toContain('its list of tools does not end');
});

test.each(['circle', 'still'])('a server whose list goes round (%s) keeps the tools that it listed', async (how) => {
  const { ok } = await lane(how);
  expect(await names(how)).toEqual(['srv__args']);
  expect(await ok('srv__args', { a: 1 })).toBe('{"a":1}');
});

test('content that is of no known type, or incomplete, costs itself alone', async () => {
  const { ok } = await lane();
  const text = await ok('srv__strange', {});
  expect(text.replace(/files\/\S+(?=\])/, 'FILE').split('\n')).toEqual([
    'before',
    '[content of the unknown type "hologram" was left out]',
    '[content of the unknown type "card" was left out]',
    'of a card',
    '[an image, 7 bytes: FILE]',
    '[link to demo://d]',
    '[content of the unknown type "" was left out]',
    'after',
    '{"result":[1]}',
  ]);
});

test.each([
  ['order', '{\n  "b": 2,\n  "a": [1, 2]\n}'],
  ['wrapped', 'Sunny.'],
  ['number', '3'],
  ['list', '{"id":1}\ntwo'],
  ['more', 'Found 1.\n{"items":["x"]}'],
  ['none', '{"result":[]}'],
])('a result that stands as text and as structured content (%s) reaches the model once', async (how, text) => {
  const { ok } = await lane();
  expect(await ok('srv__repeats', { how })).toBe(text);
});

test('ten thousand tools come in pages; odd names are folded, each to its own; what is no tool is passed over', async () => {
  expect(await names('many')).toHaveLength(10_000);
  const odd = await lane('names', {}, { agent: { builtins: [], tools: [plan('names')] } });
  const tools = await assembleTools(odd.deps, odd.context);
  expect(tools.map(({ ref }) => ref)).toContain('srv.a/b');
  const folded = tools.map(({ spec }) => spec.name);
  expect(new Set(folded).size).toBe(6);
  expect(folded).toContain('srv__a_b');
  for (const [index, name] of folded.entries()) {
    expect(name).toMatch(/^[\w-]{1,64}$/);
    expect(await odd.ok(name, {})).toBe(tools[index]?.ref.slice('srv.'.length));
  }
  const broken = await lane('broken', {}, { agent: { builtins: [], tools: [plan('broken')] } });
  const read = await assembleTools(broken.deps, broken.context);
  expect(read.map(({ ref, spec }) => [ref, spec.description.length, spec.parameters])).toEqual([
    ['srv.good', 'Does good.'.length, { type: 'object', properties: {}, additionalProperties: true }],
    ['srv.bare', 0, { type: 'object' }],
    ['srv.wide', 4_004, { type: 'object' }],
  ]);
});

test('a list that changes is seen: a new tool by the next step, a tool that is gone by its call', async () => {
  const { ok, fails, deps, context } = await lane();
  const refs = async () => (await assembleTools(deps, context)).map(({ ref }) => ref);
  expect(await refs()).not.toContain('srv.newcomer');
  const before = await assembleTools(deps, context);
  await ok('srv__change', {});
  expect(await refs()).toContain('srv.newcomer');
  await ok('srv__forget', {});
  const gone = before.find(({ ref }) => ref === 'srv.count');
  expect(await gone?.run({}, { ...context, callKey: 'k' })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^srv: it no longer has a tool count: it has env, args, .* and \d+ more$/),
  });
  expect(await fails('srv__throw', {})).toContain('thrown inside');
});

test('only what a server says changes nothing may be done again', async () => {
  const { deps, context } = await lane();
  const tools = await assembleTools(deps, context);
  const acts = (ref: string) => tools.find((tool) => tool.ref === ref)?.acts({});
  expect([acts('srv.count'), acts('srv.env')]).toEqual([false, true]);
});

test('the reference server works in the sandbox', async () => {
  const entry = new URL(
    '../../node_modules/@modelcontextprotocol/server-everything/dist/transports/stdio.js',
    import.meta.url,
  );
  const { outputFiles } = await build({
    entryPoints: [entry.pathname],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  const { ok, fails } = await lane('stdio', {}, { files: { 'tools/srv/server.mjs': outputFiles[0]?.text ?? '' } });
  expect(await ok('srv__echo', { message: 'hello' })).toBe('Echo: hello');
  expect(await ok('srv__get-sum', { a: 2, b: 3 })).toContain('5');
  expect(await ok('srv__get-tiny-image', {})).toMatch(/\[an image, \d+ bytes: files\/srv-get-tiny-image-\S+\.png\]/);
  expect(await ok('srv__get-structured-content', { location: 'Chicago' })).toContain('temperature');
  const told: string[] = [];
  await ok('srv__trigger-long-running-operation', { duration: 1, steps: 2 }, { onOutput: (chunk) => told.push(chunk) });
  expect(told).toEqual(['1 of 2\n', '2 of 2\n']);
  expect(await fails('srv__echo', { message: 7 })).toContain('expected string, received number');
});
