import { expect, test } from 'vitest';
import { check } from './tree.js';

const json = (server: unknown) => ({ '.mcp.json': JSON.stringify({ mcpServers: { a: server } }) });
const file = (...lines: string[]) => ({ 'tools/a.md': ['---', 'description: a', ...lines, '---', ''].join('\n') });
const inline = (...lines: string[]) => ({
  'agents/b.md': [
    '---',
    'description: b',
    'mcpServers:',
    '  a:',
    ...lines.map((line) => `    ${line}`),
    '---',
    '',
  ].join('\n'),
});

test.each([
  ['no whole address', json({ url: 'a.example' }), 'tool/bad-value', 'begins with https://'],
  ['no whole address', file('url: ftp://a.example'), 'tool/bad-value', 'begins with https://'],
  ['no whole address', inline('url: a.example'), 'agent/bad-value', 'begins with https://'],
  ['a command line', json({ command: 'node a.js' }), 'tool/bad-value', 'go into `args`, one each'],
  ['a command line', file('command: node a.js'), 'tool/bad-value', 'go into `args`, one each'],
  ['no way to it', json({ args: ['a'] }), 'tool/bad-value', 'either a `url` or a `command`'],
  [
    'two ways to it',
    file('command: node', 'url: https://a.example'),
    'tool/bad-value',
    'either a `url` or a `command`',
  ],
  ['another type', json({ type: 'stdio', url: 'https://a.example' }), 'tool/bad-value', 'has a `command` and no `url`'],
  ['another type', json({ type: 'sse', command: 'node' }), 'tool/bad-value', 'has a `url` and no `command`'],
  [
    'a secret in the open',
    json({ url: 'https://a.example', headers: { Authorization: 'Bearer 0123456789' } }),
    'secret/literal',
    'in the open',
  ],
  ['a secret in the open', file('command: node', 'env: { API_KEY: 0123456789 }'), 'secret/literal', 'in the open'],
])('an MCP server with %s is told at its deploy: %#', (_what, files, code, words) => {
  const { issues } = check({ ...files, 'AGENTS.md': '# Shop\n' });
  expect(issues.filter((issue) => issue.code === code).map(({ message }) => message)).toEqual([
    expect.stringContaining(words),
  ]);
});

test('a server keeps how it is spoken to, and a type that says the same as its keys is none', () => {
  const servers = {
    old: { type: 'sse', url: 'https://a.example/${PART}' },
    new: { type: 'http', url: 'https://a.example' },
    any: { url: 'https://a.example' },
    near: { type: 'stdio', command: 'node', args: ['a.js'] },
  };
  const { workspace, issues } = check({
    'AGENTS.md': '# Shop\n',
    '.mcp.json': JSON.stringify({ mcpServers: servers }),
    'agents/b.md': '---\ndescription: b\ntools: [old, new, any, near]\nsecrets: [PART]\n---\nGo.\n',
    'flows/f.md': '---\ndescription: f\n---\n\n## Do it @b\n\nGo.\n',
  });
  expect(issues).toEqual([]);
  const plan = workspace?.plans['flows/f']?.agents.b?.tools ?? [];
  expect(plan.map((tool) => [tool.name, tool.transport === 'mcp' && tool.via])).toEqual([
    ['old', 'sse'],
    ['new', 'http'],
    ['any', undefined],
    ['near', undefined],
  ]);
});

test.each([
  ['remote', ['name: a', 'url: https://a.example/mcp', 'headers: { X-Team: "7" }']],
  ['local', ['name: a', 'command: node', 'args: [server.js]', 'env: { LEVEL: "1" }']],
])('a %s MCP tool with the fields of the contract alone is valid, and has a description of its own', (_form, lines) => {
  const { issues, workspace } = check({
    'tools/a.md': ['---', ...lines, '---', ''].join('\n'),
    'agents/b.md': '---\ndescription: b\ntools: [a]\n---\nGo.\n',
    'flows/f.md': '## Do it @b\n\nGo.\n',
    'AGENTS.md': '# Shop\n',
  });
  expect(issues).toEqual([]);
  const [tool] = workspace?.plans['flows/f']?.agents.b?.tools ?? [];
  expect(tool).toMatchObject({ name: 'a', transport: 'mcp', description: 'The MCP server a.' });
});

test.each([
  ['http', 'base: https://a.example'],
  ['script', 'run: a.py'],
])('a tool of kind %s needs a description, by which it is called', (_kind, line) => {
  const { issues } = check({
    'tools/a/tool.md': `---\n${line}\n---\n`,
    'tools/a/a.py': 'print(1)\n',
    'AGENTS.md': '# Shop\n',
  });
  expect(issues.map(({ code, message }) => [code, message])).toEqual([
    ['tool/bad-value', 'The key `description` is missing.'],
  ]);
});

test.each(['30d', '999999999w', '1000000000'])(
  'a call that may take %s may take what a timer of a process can',
  (timeout) => {
    const files = {
      ...file('url: https://a.example', `timeout: ${timeout}`),
      'agents/b.md': '---\ndescription: b\ntools: [a]\n---\n',
      'flows/f.md': '## A @b\n\nx\n',
    };
    const { issues, workspace } = check(files);
    expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
    const [most] = JSON.stringify(workspace).match(/"timeoutMs":\d+/g) ?? [];
    expect(most).toBe('"timeoutMs":2147483000');
  },
);
