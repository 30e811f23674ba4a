import { expect, test } from 'vitest';
import { check } from './tree.js';

const tool = (...keys: string[]) =>
  ['---', 'description: The shop.', 'base: https://shop.example', ...keys, '---', ''].join('\n');
const issuesOf = (files: Readonly<Record<string, string>>) =>
  check({ 'AGENTS.md': '# Shop\n', ...files }).issues.map(({ path, code, message }) => [path, code, message]);
const agent = (grant: string) => ({ 'agents/a.md': `---\ndescription: a\ntools: [${grant}]\n---\nGo.\n` });

test('a document in several files of the tool’s folder has the operations of all of them', () => {
  const files = {
    'tools/shop/tool.md': tool('openapi: api.yaml', 'methods: [POST]'),
    'tools/shop/api.yaml': 'openapi: 3.1.0\npaths:\n  /orders: { $ref: "paths/orders.yaml#/item" }\n',
    'tools/shop/paths/orders.yaml': 'item: { $ref: "../more.json" }\n',
    'tools/shop/more.json': '{"post": {"operationId": "order"}, "get": {"operationId": "look"}}',
  };
  expect(issuesOf({ ...files, ...agent('shop.order') })).toEqual([]);
  expect(issuesOf({ ...files, ...agent('shop.look') })).toEqual([
    ['agents/a.md', 'ref/tool', 'The tool `shop`: `look` is a GET, which its `methods:` do not allow.'],
  ]);
});

test.each([
  ['a file that is not there', '/orders: { $ref: "gone.yaml" }', 'gone.yaml'],
  ['a part that is not there', '/orders: { $ref: "#/components/x" }', '#/components/x'],
  ['a file that cannot be read', '/orders: { $ref: "bad.yaml" }', 'bad.yaml'],
  ['itself', '/orders: { $ref: "#/paths/~1orders" }', '#/paths/~1orders'],
])('a path that refers to %s is an error of the deploy', (_what, item, ref) => {
  const issues = issuesOf({
    'tools/shop/tool.md': tool('openapi: api.yaml'),
    'tools/shop/api.yaml': `openapi: 3.1.0\npaths:\n  /x: { get: { operationId: x } }\n  ${item}\n`,
    'tools/shop/bad.yaml': 'get: [',
  });
  expect(issues).toEqual([
    [
      'tools/shop/tool.md',
      'tool/bad-value',
      `\`openapi\`: \`api.yaml\` has \`/orders\`, which refers to \`${ref}\`: there is nothing there.`,
    ],
  ]);
});

test.each(['http://[bad/x.yaml', '//[', 'https://', 'http://a:99999/x', 'https://api.example.com:PORT/a.yaml'])(
  'a reference that is not an address (%s) throws nothing: it leads nowhere',
  (ref) => {
    const document = (where: string) => ({
      'tools/shop/tool.md': tool('openapi: api.json'),
      'tools/shop/api.json': JSON.stringify({
        openapi: '3.1.0',
        paths: {
          '/x': { get: { operationId: 'x', responses: { 200: { $ref: ref } } } },
          ...(where && { [where]: { $ref: ref } }),
        },
      }),
    });
    expect(issuesOf(document(''))).toEqual([]);
    expect(issuesOf(document('/y')).map(([, code]) => code)).toEqual(['tool/bad-value']);
  },
);

test('what a document has at an address is left open: only a run can read it', () => {
  const files = {
    'tools/shop/tool.md': tool('openapi: api.yaml', 'methods: [POST]'),
    'tools/shop/api.yaml': 'openapi: 3.1.0\npaths: { /orders: { $ref: "https://shop.example/orders.yaml" } }\n',
  };
  expect(issuesOf({ ...files, ...agent('shop.order') })).toEqual([]);
});

test('Swagger 2.0 is refused by its name', () => {
  const files = { 'tools/shop/tool.md': tool('openapi: api.json'), 'tools/shop/api.json': '{"swagger": "2.0"}' };
  expect(issuesOf(files)).toEqual([
    [
      'tools/shop/tool.md',
      'tool/bad-value',
      '`openapi`: `api.json` is Swagger 2.0; only OpenAPI 3.0 and 3.1 are read: convert it, for example with swagger2openapi.',
    ],
  ]);
});

test.each(['tools/shop/api.yaml', 'agents/a/tools/shop/parts.json', 'tools/shop/deep/api.yml'])(
  'a document beside a tool (%s) may have 1 MiB, and no other file more than 256 KiB',
  (path) => {
    const sized = (size: number) => `# ${'x'.repeat(size - 3)}\n`;
    const tooLarge = (at: string, size: number) =>
      issuesOf({ [at]: sized(size), 'agents/a/agent.md': '---\ndescription: a\n---\n' }).filter(
        ([, code]) => code === 'file/too-large',
      );
    expect(tooLarge(path, 1_048_576)).toEqual([]);
    expect(tooLarge(path, 1_048_577)).toHaveLength(1);
    for (const other of ['tools/shop/data.csv', 'knowledge/api.yaml', 'skills/s/api.json']) {
      expect([other, tooLarge(other, 262_145).length]).toEqual([other, 1]);
    }
  },
);
