import { expect, test } from 'vitest';
import { isInterpreterVersion, parsePackage } from '../../src/format/values/packages.js';
import { mergeRuntime } from '../../src/tools/runtime/merge-runtime.js';
import { parseSettings } from '../../src/tools/runtime/package-clients.js';

test.each([
  ['requests==2.32.3', 'pip', 'requests==2.32.3'],
  ['uvicorn[standard]>=0.30,<1', 'pip', 'uvicorn[standard]>=0.30,<1'],
  ['PyYAML', 'pip', 'PyYAML'],
  ['left-pad@1.3.0', 'npm', 'left-pad@1.3.0'],
  ['@scope/name@^1.2.0', 'npm', '@scope/name@^1.2.0'],
  ['npm:chalk', 'npm', 'chalk'],
  ['pip:chalk', 'pip', 'chalk'],
  ['chalk', null, 'chalk'],
] as const)('%s is a package', (text, manager, spec) => {
  expect(parsePackage(text)).toEqual({ manager, spec });
});

test.each([
  ...[
    '',
    '-r',
    '--index-url=http://x',
    'pip:-e',
    '-e .',
    './local',
    '../up',
    '/abs',
    '~/home',
    'a/b',
    'git+https://x/y',
  ],
  ...['https://x/y.tgz', 'file:x', 'npm:npm:a@1', 'a@npm:b', 'a@file:..', 'a@git+ssh://x', 'user/repo', 'github:a/b'],
  ...[
    'a b',
    'a;b',
    'a\nb',
    "a'b",
    'a"b',
    'a$(b)',
    'a`b`',
    'a@',
    '@scope/',
    '@/x',
    'a==',
    'a @ https://x',
    'a; python_version<"3"',
  ],
  ...['x'.repeat(201), 'a#egg=b', 'a==1 --hash=x', 'a\0b', 'npm:', 'pip:'],
])('security 22: %j is no package, so that no client ever sees it', (text) => {
  expect(parsePackage(text)).toBeNull();
});

test('a version of an interpreter is numbers', () => {
  expect(['3', '3.12', '22.11.0'].every(isInterpreterVersion)).toBe(true);
  expect(['', 'latest', '3.x', '../3', '3;', '3.1.2.3', '-3'].some(isInterpreterVersion)).toBe(false);
});

test('the nearest version of an interpreter wins, packages add up, and order makes no other environment', () => {
  const a = mergeRuntime([{ python: '3', packages: ['b==1'] }, { python: '3.12', packages: ['a', 'npm:c'] }, {}]);
  expect(a).toEqual({ python: '3.12', node: null, pip: ['a', 'b==1'], npm: ['c'] });
  expect(mergeRuntime([{ packages: ['npm:c', 'a'] }, { python: '3.12', packages: ['b==1'] }])).toEqual(a);
  expect(mergeRuntime([{ python: '3', node: '22', packages: ['a'] }])).toContain('pip:a or npm:a');
  expect(mergeRuntime([{ packages: ['a'] }])).toContain('pip:a or npm:a');
});

test('pip’s settings are read as it lists them: variables over files, the command’s own over the global ones', () => {
  const settings = parseSettings(
    "global.index-url='https://a/simple'\ninstall.index-url='https://b/simple'\n:env:.timeout='9'\nglobal.timeout='5'\nglobal.extra-index-url='https://c\\nhttps://d'\nlist.format='json'\n",
  );
  expect(Object.fromEntries(settings)).toEqual({
    'index-url': 'https://b/simple',
    timeout: '9',
    'extra-index-url': 'https://c https://d',
  });
});
