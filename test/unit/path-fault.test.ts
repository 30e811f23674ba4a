import { expect, test } from 'vitest';
import { checkPath } from '../../src/format/index.js';
import { isPlainPath, pathFault } from '../../src/shared/path-fault.js';
import { fc, runs } from '../support/properties.js';

test.each([
  'AGENTS.md',
  'flows/a.md',
  'knowledge/日本語/ä b.md',
  '.agents/skills/x/SKILL.md',
  '.gitignore',
  'memory/a@b.example.md',
  '100%.md',
])('%s is a canonical path', (path) => {
  expect(pathFault(path)).toBeNull();
});

test.each([
  ['', 'is empty'],
  ['/etc/passwd', 'part'],
  ['a//b', 'part'],
  ['a/', 'part'],
  ['..', 'part'],
  ['a/../b', 'part'],
  ['./a', 'part'],
  ['a\\b', 'backslash'],
  ['a\0b', 'control'],
  ['a\nb', 'control'],
  ['a\u0085b', 'control'],
  ['\ud800', 'control'],
  ['a/%2e%2E/b', 'percent'],
  ['a%2Fb', 'percent'],
  ['e\u0301.md', 'NFC'],
  ['.git/config', 'git'],
  ['a/.GIT/x', 'git'],
  ['.git. /x', 'git'],
  ['GIT~1/x', 'git'],
  ['.g\u200cit/x', 'git'],
  ['.git::$INDEX_ALLOCATION/x', 'git'],
  ['a/.../b', 'git'],
  [`${'x'.repeat(300)}.md`, '255 bytes'],
  ['a/'.repeat(600), '1024 bytes'],
  ['a\u202eb', 'control'],
  ['a/git~12/x', 'git'],
])('security 29: %j is refused, and the refusal says why', (path, why) => {
  expect(pathFault(path)).toContain(why);
});

test('security 29: what passes here passes at the door of a deploy, spelt as it is', () => {
  const parts = [
    '.',
    '/',
    '\\',
    '%2e',
    'a',
    ' ',
    ':',
    '~1',
    'git',
    'é',
    'e\u0301',
    '\u200c',
    '\u202e',
    '\u2028',
    '\ud800',
    'x'.repeat(90),
  ];
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...parts), maxLength: 16 }), (path) => {
      fc.pre(pathFault(path) === null);
      expect(checkPath(path)).toEqual({ ok: true, path });
    }),
    runs(2_000),
  );
});

test('security 29: whatever passes has no part that climbs, starts at the root or hides a separator', () => {
  const text = fc.string({
    unit: fc.constantFrom('.', '/', '\\', '%2e', 'a', '\0', ' ', 'é', 'e\u0301', '.git'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(text, (path) => {
      fc.pre(pathFault(path) === null);
      expect(path).not.toMatch(/^\/|\/$|\/\/|\\|%2e|\0/);
      expect(path.split('/')).not.toContain('..');
      expect(path.normalize('NFC')).toBe(path);
    }),
  );
});

test('security 29: a path that is taken for good at a glance has nothing that any rule looks for', () => {
  const text = fc.string({
    unit: fc.constantFrom('.', '/', '-', '_', 'a', 'Z', '9', 'git', '~1', ' ', '%2e', ':', 'é', '\0', '.git'),
    maxLength: 10,
  });
  let plain = 0;
  fc.assert(
    fc.property(text, (path) => {
      if (!isPlainPath(path)) return;
      plain += 1;
      expect(path).toMatch(/^[\w./-]+$/);
      for (const part of path.split('/')) expect(part).toMatch(/^[^.]/);
      expect(checkPath(path)).toEqual({ ok: true, path });
    }),
    runs(2_000),
  );
  expect(plain).toBeGreaterThan(20);
  expect(isPlainPath('a'.repeat(255))).toBe(true);
  expect(isPlainPath('a'.repeat(256))).toBe(false);
  expect(pathFault(`${'a'.repeat(256)}/b`)).toContain('part over');
});
