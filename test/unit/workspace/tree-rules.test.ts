import { describe, expect, test } from 'vitest';
import {
  checkPath,
  checkTree,
  foldPath,
  isProtectedPath,
  kindOfPath,
  parseLibrary,
} from '../../../src/format/index.js';
import { readFrontmatter } from '../../../src/format/yaml/read-frontmatter.js';
import { readYaml } from '../../../src/format/yaml/read-yaml.js';
import { fc } from '../../support/properties.js';
import { check, NO_CONTEXT, tree } from './tree.js';

const errors = (files: Record<string, string>) =>
  check(files).issues.flatMap(({ severity, code, path }) => (severity === 'error' ? [`${code} ${path}`] : []));

describe('security 29: one function canonicalises paths', () => {
  test.each([
    '',
    '/a',
    '../a',
    'a/../b',
    'a/./b',
    'a//b',
    'a/',
    'a\\b',
    'a\u0000b',
    'a\nb',
    'a\u202eb',
    '.git/config',
    'a/.GIT/b',
    'GIT~1/x',
    'a/%2e%2e/b',
    'a%2Fb',
    'a%5cb',
    'a%00',
    '\ud800',
    `${'a'.repeat(256)}/b`,
    'a/'.repeat(600),
  ])('%j is refused', (path) => {
    expect(checkPath(path).ok).toBe(false);
  });

  test.each(['a.md', '.gitignore', '.github/x.md', 'knowledge/ü 1.md', 'a..b/c', '100%/x'])('%j stands', (path) => {
    expect(checkPath(path)).toEqual({ ok: true, path });
  });

  test('a path comes back in NFC, and what comes back stands as it is', () => {
    expect(checkPath('cafe\u0301.md')).toEqual({ ok: true, path: 'café.md' });
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (path) => {
        const once = checkPath(path);
        if (once.ok) expect(checkPath(once.path)).toEqual(once);
      }),
    );
  });

  test('twins differ in case or form only', () => {
    expect(foldPath('Knowledge/CAFE\u0301.md')).toBe(foldPath('knowledge/café.md'));
  });
});

test.each([
  ['AGENTS.md', 'workspace'],
  ['agents/a.md', 'agent'],
  ['agents/a/agent.md', 'agent'],
  ['agents/a/tools/t.md', 'tool'],
  ['agents/a/skills/s/SKILL.md', 'skill'],
  ['agents/a/knowledge/x/y.md', 'knowledge'],
  ['flows/f.md', 'flow'],
  ['flows/sub/f.md', 'other'],
  ['evals/e.md', 'eval'],
  ['tools/t/tool.md', 'tool'],
  ['tools/t/notes.md', 'other'],
  ['.agents/skills/s/SKILL.md', 'skill'],
  ['memory/a/b.md', 'memory'],
  ['.mcp.json', 'other'],
])('%s is of kind %s', (path, kind) => {
  expect(kindOfPath(path)).toBe(kind);
});

test('the service’s own paths are protected', () => {
  expect(['runs/1', 'state/a.md', 'storage/a', 'files/a', 'outputs/a', 'secrets.json'].every(isProtectedPath)).toBe(
    true,
  );
  expect(['flows/state/a.md', 'stateful/a.md', 'secrets.json.md'].some(isProtectedPath)).toBe(false);
});

describe('frontmatter', () => {
  test('versions keep their spelling, and no date is made of a date', () => {
    const read = readYaml('python: 3.10\nreview_by: 2027-06-30\n');
    expect(read.node?.entries?.get('python')?.node.source).toBe('3.10');
    expect(read.node?.value).toEqual({ python: 3.1, review_by: '2027-06-30' });
  });

  test('signs that YAML means something by are text within quotes', () => {
    expect(readYaml('a: "*b &c !d"\nb: \'<<\'\nc: |\n  *x\n')).toMatchObject({
      faults: [],
      node: { value: { a: '*b &c !d', b: '<<', c: '*x\n' } },
    });
  });

  test('a body without frontmatter, an empty one and one with carriage returns are told apart from an unclosed one', () => {
    expect(readFrontmatter('# a')).toEqual({ kind: 'none', bodyStart: 0 });
    expect(readFrontmatter('---\n---\nx')).toMatchObject({ kind: 'closed', bodyStart: 7, faults: [] });
    expect(readFrontmatter('---\r\na: 1\r\n---\r\nx')).toMatchObject({ kind: 'closed', node: { value: { a: 1 } } });
    expect(readFrontmatter('---\na: 1\n')).toEqual({ kind: 'unclosed' });
  });

  test('no name reaches an object’s prototype', () => {
    const { workspace } = check({
      'AGENTS.md': '---\nmodels: { __proto__: x, default: y }\n---\n',
      'agents/a.md': 'Be.',
    });
    expect(Object.entries(workspace?.plans['agents/a']?.workspace.models ?? {})).toEqual([
      ['__proto__', ['x']],
      ['default', ['y']],
    ]);
    expect(errors({ 'agents/a.md': '---\n__proto__: x\nconstructor: y\n---\n' })).toEqual([
      'agent/unknown-key agents/a.md',
      'agent/unknown-key agents/a.md',
    ]);
  });
});

describe('nearest wins', () => {
  const TOOL = (description: string) => `---\ndescription: ${description}\nbase: https://a.example\n---\n`;
  const AGENT = '---\ntools: [t]\nknowledge: [k]\n---\nBe.';

  test('an agent’s own tools and documents, then the workspace’s, then the account’s', () => {
    const library = tree({ 'tools/t.md': TOOL('library'), 'knowledge/k.md': 'x' });
    const found = (files: Record<string, string>) => {
      const agent = checkTree(tree({ 'agents/a/agent.md': AGENT, ...files }), NO_CONTEXT, parseLibrary(library))
        .workspace?.plans['agents/a']?.agents.a;
      return [agent?.tools[0]?.description, agent?.knowledge[0]];
    };
    const shared = { 'tools/t.md': TOOL('workspace'), 'knowledge/k.md': 'x' };
    const own = { 'agents/a/tools/t/tool.md': TOOL('own'), 'agents/a/knowledge/k.md': 'x' };
    expect(found({})).toEqual(['library', 'library/knowledge/k.md']);
    expect(found(shared)).toEqual(['workspace', 'knowledge/k.md']);
    expect(found({ ...shared, ...own })).toEqual(['own', 'agents/a/knowledge/k.md']);
  });

  test('an agent’s own tool is not another’s', () => {
    expect(
      errors({
        'agents/a/agent.md': 'Be.',
        'agents/a/tools/t.md': TOOL('own'),
        'agents/b.md': '---\ntools: [t]\n---\n',
      }),
    ).toEqual(['ref/tool agents/b.md']);
  });
});

describe('secrets', () => {
  const FILES = {
    'tools/t.md': '---\ndescription: a\nbase: https://a.example\nheaders: { Authorization: "Bearer ${KEY}" }\n---\n',
    'agents/a.md': '---\ntools: [t]\n---\nBe.',
  };

  test('a flow or a step may grant what the agent does not', () => {
    expect(errors({ ...FILES, 'flows/f.md': '---\nsecrets: [KEY]\n---\n## A @a' })).toEqual([]);
    expect(errors({ ...FILES, 'flows/f.md': '## A @a\n\n- secrets: [KEY]' })).toEqual([]);
    expect(errors({ ...FILES, 'flows/f.md': '## A @a\n\n- tools: [Read]\n\n## B @a\n\n- secrets: [KEY]' })).toEqual([]);
  });

  test('the step that lacks it is named when another has it, else the agent', () => {
    expect(errors({ ...FILES, 'flows/f.md': '## A @a\n\n- secrets: [KEY]\n\n## B @a' })).toEqual([
      'secret/not-granted flows/f.md',
    ]);
    expect(errors({ ...FILES, 'flows/f.md': '## A @a' })).toEqual(['secret/not-granted agents/a.md']);
  });
});

test('a script tool is pinned with every file of its folder, by git’s id of the blob', () => {
  const files = {
    'tools/t/tool.md': '---\ndescription: a\nrun: a.py\n---\n',
    'tools/t/a.py': 'print(1)\n',
    'tools/t/b.txt': '',
    'agents/a.md': '---\ntools: [t]\n---\n',
  };
  expect(check(files).workspace?.plans['agents/a']?.agents.a?.tools[0]).toMatchObject({
    transport: 'script',
    program: { kind: 'file', path: 'tools/t/a.py' },
    files: [
      { path: 'tools/t/a.py', sha: 'b917a726c93f902e43291d9009d6488385133b67' },
      { path: 'tools/t/b.txt', sha: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391' },
    ],
  });
});

test('the fenced block of a script tool is its program', () => {
  const files = {
    'tools/t.md': '---\ndescription: a\n---\nRuns:\n\n```python\nprint(1)\n```\n',
    'agents/a.md': '---\ntools: [t]\n---\n',
  };
  expect(check(files).workspace?.plans['agents/a']?.agents.a?.tools[0]).toMatchObject({
    program: { kind: 'code', language: 'python', code: 'print(1)\n' },
  });
});
