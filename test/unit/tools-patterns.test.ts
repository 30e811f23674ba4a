import { expect, test } from 'vitest';
import { matchGlob } from '../../src/tools/builtins/match-glob.js';
import { mediaType } from '../../src/tools/lane/media-type.js';
import { toolPath } from '../../src/tools/tool-path.js';

test.each([
  ['*.md', ['a.md'], ['a/b.md', 'a.mdx']],
  ['**/*.md', ['a.md', 'a/b.md', 'a/b/c.md'], ['a.txt']],
  ['knowledge/**', ['knowledge/a', 'knowledge/a/b'], ['knowledge', 'x/knowledge/a']],
  ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['az', 'a/bz']],
  ['file?.txt', ['file1.txt'], ['file.txt', 'file12.txt', 'file/.txt']],
  ['{a,b/c}/*.{md,csv}', ['a/x.md', 'b/c/y.csv'], ['b/x.md']],
  ['[a-c]x', ['ax', 'cx'], ['dx', 'x']],
  ['[!a]x', ['bx'], ['ax']],
  ['a+b(c).txt', ['a+b(c).txt'], ['aab(c).txt']],
  ['[', ['['], ['a']],
  ['{a', ['{a'], ['a']],
  ['./outputs/*', ['outputs/x'], ['x']],
  ['/work/outputs/*', ['outputs/x'], ['x']],
])('the glob %j matches %j and not %j', (glob, yes, no) => {
  const matches = matchGlob(glob);
  expect(yes.filter(matches)).toEqual(yes);
  expect(no.filter(matches)).toEqual([]);
});

test('what programs call /work is the same place', () => {
  expect([toolPath('/work/outputs/a'), toolPath('./files/b'), toolPath('knowledge/c')]).toEqual([
    'outputs/a',
    'files/b',
    'knowledge/c',
  ]);
});

test('a media type comes from the name', () => {
  expect([mediaType('outputs/A.CSV'), mediaType('files/x'), mediaType('x.md')]).toEqual([
    'text/csv',
    'application/octet-stream',
    'text/markdown',
  ]);
});
