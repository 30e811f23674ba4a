import { beforeEach, expect, test } from 'vitest';
import { validate } from '../../src/format/index.js';
import type { Json, JsonObject } from '../../src/shared/json.js';
import { listTools } from '../../src/tools/index.js';
import { createHttpLane, httpPlan, httpTools } from '../support/http-tools.js';
import { startLocalServer } from '../support/local-server.js';
import { openapiFixture, parsedFixture } from '../support/openapi-fixture.js';
import { openapiJudge } from '../support/openapi-mock.js';
import { sampleValue } from '../support/sample-value.js';
import type { ToolLane } from '../support/tool-lane.js';

let lane: ToolLane;
beforeEach(async () => {
  lane = await createHttpLane({
    'knowledge/logo.svg': '<svg/>',
    'tools/shop.openapi.yaml': SHOP,
    'tools/parts/order.json': ORDER,
  });
});
const ALL = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const SHOP = `openapi: 3.1.0
info: { title: Shop, version: "1" }
paths:
  /orders/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: string } }
    get: { operationId: get_order, summary: One order., responses: { "200": { description: It, content: { application/json: {} } } } }
    put:
      operationId: put_order
      parameters:
        - { name: Idempotency-Key, in: header, required: true, schema: { type: string } }
        - { name: Authorization, in: header, schema: { type: string } }
        - { name: X-Shop, in: header, required: true, schema: { type: string } }
        - { name: filter, in: query, style: deepObject, schema: { type: object } }
        - { name: body, in: query, schema: { type: integer } }
      requestBody: { required: true, content: { application/json: { schema: { $ref: "./parts/order.json#/Order" } } } }
      responses: { "200": { description: It } }
  /files:
    post:
      requestBody:
        content:
          multipart/form-data:
            schema:
              type: object
              required: [file]
              properties:
                file: { type: string, format: binary }
                tags: { type: array, items: { type: string } }
                meta: { type: object }
      responses: { "201": { description: Kept } }
`;
const ORDER = JSON.stringify({
  Order: {
    allOf: [
      { $ref: '#/Base' },
      { required: ['items'], properties: { items: { type: 'array', items: { $ref: '#/Item' } } } },
    ],
  },
  Base: { type: 'object', required: ['at'], properties: { at: { type: 'string', format: 'date-time' } } },
  Item: {
    type: 'object',
    properties: { sku: { type: ['string', 'null'] }, parts: { type: 'array', items: { $ref: '#/Item' } } },
  },
});

/** A server that has the document at /openapi, and judges all else by it. */
async function judged(name: Parameters<typeof openapiFixture>[0]) {
  const text = openapiFixture(name);
  const judge = openapiJudge(parsedFixture(name), '/api');
  const verdicts: ReturnType<typeof judge>[] = [];
  const server = await startLocalServer((request, response) => {
    if (request.path === '/openapi') return void response.setHeader('etag', '"1"').end(text);
    verdicts.push(judge(request));
    response.end();
  });
  const plan = httpPlan({
    base: `${server.url}/api`,
    openapi: `${server.url}/openapi`,
    methods: ALL,
    headers: { Authorization: 'Bearer x' },
  });
  return { server, verdicts, ...(await httpTools(lane, plan)) };
}

/** How many of a document's operations are called; the rest is read alone. */
const DOCUMENTS = [
  ['petstore-3.0.yaml', 20, 20],
  ['petstore-3.1.yaml', 20, 20],
  ['blockfrost.yaml', 129, 129],
  ['figma.yaml', 54, 54],
  ['github.json', 1_223, 150],
] as const;

test.each(DOCUMENTS)(
  '%s becomes %i tools, and calls match what the document says',
  async (name, count, called) => {
    const { tools, call, verdicts, server } = await judged(name);
    expect(tools).toHaveLength(count);
    for (const { spec } of tools) expect(spec.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(tools.map(({ spec }) => spec.name)).size).toBe(count);
    const step = Math.floor(tools.length / called);
    const faults: unknown[] = [];
    for (const [index, tool] of tools.entries()) {
      if (index % step > 0) continue;
      const { properties = {} } = tool.spec.parameters as { properties?: JsonObject };
      const args: Record<string, Json> = {};
      for (const [key, schema] of Object.entries(properties)) {
        const isFile = String((schema as JsonObject).description).includes('The path of a file');
        args[key] = isFile ? 'knowledge/logo.svg' : withFiles(schema as JsonObject, sampleValue(schema as JsonObject));
      }
      if (validate(tool.spec.parameters, args).length > 0)
        faults.push([tool.ref, 'the sample does not fit', validate(tool.spec.parameters, args)]);
      const before = verdicts.length;
      const { text } = await call(tool.ref, args);
      if (verdicts.length === before) faults.push([tool.ref, text]);
    }
    for (const verdict of verdicts) if (verdict.faults.length > 0) faults.push(verdict);
    expect(faults.slice(0, 5)).toEqual([]);
    expect(server.requests.filter(({ path }) => path === '/openapi')).toHaveLength(1);
  },
  120_000,
);

/** Where a form has a field that is a file. */
function withFiles(schema: JsonObject, value: Json): Json {
  const properties = (schema.properties ?? {}) as Record<string, JsonObject>;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      if (!String(properties[key]?.description).includes('The path of a file')) return [key, one];
      return [key, Array.isArray(one) ? ['knowledge/logo.svg'] : 'knowledge/logo.svg'];
    }),
  );
}

test('a document beside the tool, with a reference to another file: parameters of the path, allOf and circles', async () => {
  const server = await startLocalServer((_request, response) => void response.end());
  const plan = httpPlan({
    base: server.url,
    openapi: 'tools/shop.openapi.yaml',
    methods: ALL,
    headers: { 'X-Shop': '${SHOP}' },
  });
  const { tools, call } = await httpTools(lane, plan, { secrets: { SHOP: 'shop-secret' } });
  expect(tools.map(({ ref, acts }) => [ref, acts({})])).toEqual([
    ['shop.get_order', false],
    ['shop.put_order', true],
    ['shop.post_files', true],
  ]);
  const item = (parts: JsonObject) => ({ type: 'object', properties: { sku: { type: ['string', 'null'] }, parts } });
  expect(tools[1]?.spec.parameters).toEqual({
    type: 'object',
    additionalProperties: false,
    required: ['id', 'request_body'],
    properties: {
      id: { type: 'string' },
      filter: { type: 'object' },
      body: { type: 'integer' },
      request_body: {
        type: 'object',
        required: ['items', 'at'],
        properties: {
          at: { type: 'string', format: 'date-time' },
          items: {
            type: 'array',
            items: item({ type: 'array', items: { type: 'object', description: 'Another Item.' } }),
          },
        },
      },
    },
  });
  const order = { at: '2026-01-02T03:04:05Z', items: [] };
  await call('shop.put_order', { id: 'a/b c', filter: { a: 1 }, body: 7, request_body: order });
  expect(server.requests[0]).toMatchObject({
    method: 'PUT',
    path: '/orders/a%2Fb%20c?filter[a]=1&body=7',
    body: JSON.stringify(order),
  });
  expect(server.requests[0]?.headers).toMatchObject({ 'x-shop': 'shop-secret', 'idempotency-key': 'call-key-1' });
  for (const id of ['..', '.', '../x/..'])
    expect((await call('shop.get_order', { id })).isError || server.requests.at(-1)?.path.startsWith('/orders/')).toBe(
      true,
    );
  await call('shop.post_files', { body: { file: 'knowledge/logo.svg', tags: ['a', 'b'], meta: { x: 1 } } });
  const { body = '' } = server.requests.at(-1) ?? {};
  expect(body).toContain('name="file"; filename="logo.svg"\r\nContent-Type: image/svg+xml\r\n\r\n<svg/>');
  expect(body.match(/name="tags"/g)).toHaveLength(2);
  expect(body).toContain('name="meta"\r\nContent-Type: application/json\r\n\r\n{"x":1}');
});

test('an answer of another form than its document says is an error that shows how it begins', async () => {
  const server = await startLocalServer(
    (_request, response) => void response.setHeader('content-type', 'text/html').end('<h1>Log in</h1>'),
  );
  const { call } = await httpTools(lane, httpPlan({ base: server.url, openapi: 'tools/shop.openapi.yaml' }));
  expect(await call('shop.get_order', { id: '1' })).toMatchObject({
    isError: true,
    text: '200 OK\nthe answer is text/html, and its document says application/json. It begins:\n<h1>Log in</h1>',
  });
});

test('grants, disallowedTools and a step’s tools name single operations; what nobody knows says so when it is called', async () => {
  const plan = httpPlan({ base: 'https://shop.example', openapi: 'tools/shop.openapi.yaml', methods: ALL });
  const { agent, step } = lane.context;
  const refs = async (change: Partial<typeof agent>, tools?: readonly string[]) => {
    const given = {
      agent: { ...agent, builtins: [], tools: [plan], ...change },
      step: { ...step, ...(tools && { tools }) },
    };
    return (await httpTools(lane, plan, { change: given })).tools.map(({ ref }) => ref);
  };
  expect(await refs({ grants: ['shop.get_order'] })).toEqual(['shop.get_order']);
  expect(await refs({ grants: ['shop', 'shop.get_order'] })).toHaveLength(3);
  expect(await refs({ grants: ['shop'], disallowed: ['shop.put_order'] })).toEqual([
    'shop.get_order',
    'shop.post_files',
  ]);
  expect(await refs({ grants: ['shop'], disallowed: ['shop'] })).toEqual([]);
  expect(await refs({ grants: ['shop'] }, ['shop.post_files', 'Read'])).toEqual(['shop.post_files']);
  expect(await refs({ grants: ['shop.gone'] })).toEqual(['shop.gone']);
  const given = { agent: { ...agent, builtins: [], tools: [plan], grants: ['shop.gone'] } };
  expect((await (await httpTools(lane, plan, { change: given })).call('shop.gone', {})).text).toBe(
    'tool shop has no operation of the name shop.gone',
  );
});

test('a document that cannot be had is one tool that says why, and is not asked for anew by every step', async () => {
  let answer = (response: import('node:http').ServerResponse) => void response.writeHead(503).end();
  const server = await startLocalServer((_request, response) => answer(response));
  const plan = httpPlan({ base: server.url, openapi: `${server.url}/d.json?key=secret-of-mine` });
  const said = async () => {
    const { tools, call } = await httpTools(lane, plan);
    return tools.length === 1 && tools[0]?.ref === 'shop'
      ? (await call('shop', {})).text
      : tools.map(({ ref }) => ref).join();
  };
  expect(await said()).toMatch(
    /^tool shop cannot be used: the document cannot be fetched: 127\.0\.0\.1:\d+ answers 503$/,
  );
  answer = (response) => void response.end('<html>');
  expect(await said()).toMatch(/^tool shop cannot be used: the document 127\.0\.0\.1:\d+ is not a JSON or YAML map$/);
  expect(await said()).not.toContain('secret-of-mine');
  expect(server.requests).toHaveLength(2);
  const swagger = await startLocalServer((_request, response) => void response.end('{"swagger": "2.0", "paths": {}}'));
  const old = await httpTools(lane, httpPlan({ base: server.url, openapi: swagger.url }));
  expect((await old.call('shop', {})).text).toContain('is Swagger 2.0; only OpenAPI 3.0 and 3.1 are read');
  const many = await startLocalServer((_request, response) => void response.end(openapiFixture('petstore-3.0.yaml')));
  const from = httpPlan({ base: many.url, openapi: `${many.url}/x` });
  await Promise.all(Array.from({ length: 10 }, () => httpTools(lane, from)));
  expect(many.requests).toHaveLength(1);
});

test('security 19: a document does not choose where credentials go', async () => {
  const other = await startLocalServer((_request, response) => void response.end());
  const text = JSON.stringify({
    openapi: '3.0.0',
    servers: [{ url: other.url }],
    paths: { '/x': { get: { operationId: 'x' } } },
  });
  const server = await startLocalServer((_request, response) => void response.end(text));
  const plan = { openapi: `${server.url}/d`, headers: { Authorization: 'Bearer ${TOKEN}' } };
  const { call } = await httpTools(lane, httpPlan(plan), { secrets: { TOKEN: 'canary-secret' } });
  expect((await call('shop.x', {})).text).toMatch(
    /its document sends calls on to 127\.0\.0\.1:\d+, and the tool has credentials: give it a `base:`/,
  );
  const written = httpPlan({ ...plan, headers: { 'X-Api-Key': 'written-out' } });
  expect((await (await httpTools(lane, written)).call('shop.x', {})).text).toContain('the tool has credentials');
  expect(other.requests).toEqual([]);
  const plain = httpPlan({ openapi: plan.openapi, headers: { Accept: 'application/json' } });
  await (await httpTools(lane, plain)).call('shop.x', {});
  expect(other.requests).toHaveLength(1);
  await (await httpTools(lane, httpPlan({ ...plan, base: server.url }), { secrets: { TOKEN: 'canary-secret' } })).call(
    'shop.x',
    {},
  );
  expect(server.requests.at(-1)).toMatchObject({ path: '/x', headers: { authorization: 'Bearer canary-secret' } });
});

test('security 19: nor does a document that the workspace’s own refers to', async () => {
  const other = await startLocalServer((_request, response) => void response.end());
  const item = { servers: [{ url: other.url }], get: { operationId: 'x' } };
  const parts = await startLocalServer((_request, response) => void response.end(JSON.stringify({ item })));
  const own = await startLocalServer((_request, response) => void response.end());
  const text = JSON.stringify({
    openapi: '3.1.0',
    servers: [{ url: own.url }],
    paths: { '/x': { $ref: `${parts.url}/paths.json#/item` }, '/y': { get: { operationId: 'y' } } },
  });
  const mine = await createHttpLane({ 'tools/shop.json': text });
  const plan = httpPlan({
    openapi: 'tools/shop.json',
    headers: { Authorization: 'Bearer ${TOKEN}' },
  });
  const { call } = await httpTools(mine, plan, { secrets: { TOKEN: 'canary-secret' } });
  expect((await call('shop.x', {})).text).toContain('the tool has credentials: give it a `base:`');
  expect(other.requests).toEqual([]);
  await call('shop.y', {});
  expect(own.requests).toMatchObject([{ path: '/y', headers: { authorization: 'Bearer canary-secret' } }]);
});

test('a document whose aliases stand for billions of parts is refused, and one with a thousand plain ones is read', async () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `a${index}`);
  const plain = `x-a: [${names(1_000).map((name) => `&${name} 0`)}]\nx-b: [${names(1_000).map((name) => `*${name}`)}]`;
  const bomb = names(12).map((name, at) => `x-${name}: &${name} [${Array(10).fill(at === 0 ? '0' : `*a${at - 1}`)}]`);
  const round = 'x-round: &round [*round]';
  const text = (more: string) =>
    `openapi: 3.1.0\n${more}\npaths: { /x: { get: { operationId: x, description: 'a & b' } } }\n`;
  const mine = await createHttpLane({
    'tools/plain.yaml': text(plain),
    'tools/bomb.yaml': text(bomb.join('\n')),
    'tools/round.yaml': text(round),
  });
  const toolsOf = (name: string) => httpTools(mine, httpPlan({ base: 'http://127.0.0.1:1', openapi: `tools/${name}` }));
  for (const name of ['bomb.yaml', 'round.yaml']) {
    expect((await (await toolsOf(name)).call('shop', {})).text).toMatch(/too many aliases|cannot be read as YAML/);
  }
  expect((await toolsOf('plain.yaml')).tools.map(({ ref }) => ref)).toEqual(['shop.x']);
});

test('YAML of 12 MB at an address is read as JSON of that length is, and the document may be in several files', async () => {
  const long = `openapi: 3.0.3\npaths:\n${Array.from(
    { length: 50_000 },
    (_, n) =>
      `  /things${n}/{id}:\n    get:\n      operationId: get${n}\n      summary: 'Thing number ${n}: with "quotes" and a colon'\n` +
      `      parameters:\n        - { name: id, in: path, required: true, schema: { type: string } }\n` +
      `      responses:\n        '200':\n          description: It is there.\n`,
  ).join('')}`.replaceAll('It is there.', 'x'.repeat(30));
  expect(long.length).toBeGreaterThan(12_000_000);
  const server = await startLocalServer((_request, response) => void response.end(long));
  const { tools } = await httpTools(lane, httpPlan({ base: server.url, openapi: `${server.url}/long.yaml` }));
  expect(tools.length).toBe(50_000);

  const files = {
    'tools/shop/api.yaml': 'openapi: 3.1.0\npaths:\n  /orders: { $ref: "./paths/orders.yaml" }\n',
    'tools/shop/paths/orders.yaml':
      'post:\n  operationId: order\n  requestBody: { content: { application/json: { schema: { $ref: "../parts.json#/Order" } } } }\n',
    'tools/shop/parts.json': '{"Order": {"type": "object", "properties": {"sku": {"type": "string"}}}}',
  };
  const split = await httpTools(
    await createHttpLane(files),
    httpPlan({ base: server.url, openapi: 'tools/shop/api.yaml', methods: ALL }),
  );
  expect(split.tools.map(({ ref, spec }) => [ref, spec.parameters.properties])).toEqual([
    ['shop.order', { body: { type: 'object', properties: { sku: { type: 'string' } } } }],
  ]);
});

test('remote references go through the guarded client; one that cannot be had leaves its form open', async () => {
  const parts = await startLocalServer(({ path }, response) => {
    if (path === '/gone.json') response.statusCode = 404;
    response.end(
      JSON.stringify({
        Pet: { type: 'object', properties: { name: { type: 'string' }, next: { $ref: 'more.json#/Next' } } },
        Next: { type: 'integer' },
      }),
    );
  });
  const body = (ref: string) => ({ requestBody: { content: { 'application/json': { schema: { $ref: ref } } } } });
  const paths = {
    '/a': { post: { operationId: 'a', ...body(`${parts.url}/pets.json#/Pet`) } },
    '/b': { post: { operationId: 'b', ...body(`${parts.url}/gone.json#/Pet`) } },
    '/c': { post: { operationId: 'c', ...body('http://169.254.169.254/x.json#/Pet') } },
    '/d': { post: { operationId: 'd', ...body('tools/shop.openapi.yaml#/nothing') } },
  };
  const server = await startLocalServer(
    (_request, response) => void response.end(JSON.stringify({ openapi: '3.0.0', paths })),
  );
  const { tools } = await httpTools(
    lane,
    httpPlan({ base: server.url, openapi: `${server.url}/d.json`, methods: ALL }),
  );
  const bodies = tools.map(({ spec }) => (spec.parameters.properties as { body: JsonObject }).body);
  expect(bodies[0]).toEqual({ type: 'object', properties: { name: { type: 'string' }, next: { type: 'integer' } } });
  for (const open of bodies.slice(1, 3)) expect(open.description).toContain('cannot be read');
});

test('a document of a thousand operations is searched', async () => {
  const { tools } = await judged('github.json');
  const { listed, tools: all } = listTools(tools);
  expect(listed.map(({ name }) => name)).toEqual(['find_tool', 'call_tool']);
  const { context } = lane;
  const found = await all
    .get('find_tool')
    ?.run({ query: 'create an issue in a repository' }, { ...context, callKey: 'k' });
  expect(found?.text.split('\n\n').slice(0, 8).join()).toContain('shop__issues_create');
});
