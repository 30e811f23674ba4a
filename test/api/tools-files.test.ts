import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cpuUnit, expectCpu } from '../support/cpu-cost.js';
import { createToolLane } from '../support/tool-lane.js';

const FILES = {
  'AGENTS.md': '# Shop\n',
  'knowledge/tone.md': 'Be kind.\nBe short.\nBe kind again.\n',
  'knowledge/deep/refunds.md': 'Refunds take 5 days.\n',
  'memory/writer/notes.md': 'Old note.\n',
  'agents/writer.md': 'You write.\n',
};

test('Read shows pinned files, memory, the lane, and results of earlier steps', async () => {
  const { ok } = await createToolLane({ files: FILES });
  await ok('Write', { path: 'outputs/draft.md', content: 'Dear customer' });
  expect(await ok('Read', { path: 'knowledge/tone.md' })).toBe(FILES['knowledge/tone.md']);
  expect(await ok('Read', { path: 'memory/writer/notes.md' })).toBe('Old note.\n');
  expect(await ok('Read', { path: 'outputs/draft.md' })).toBe('Dear customer');
  expect(await ok('Read', { path: 'steps/research.md' })).toBe('What was found.');
  expect(await ok('Read', { path: '/work/outputs/draft.md' })).toBe('Dear customer');
  expect(await ok('Read', { path: 'knowledge/tone.md', offset: 2, limit: 1 })).toBe('Be short.');
});

test('Glob lists by pattern, Grep finds by line', async () => {
  const { ok } = await createToolLane({ files: FILES });
  await ok('Write', { path: 'files/a/kind.txt', content: 'so kind' });
  expect(await ok('Glob', { pattern: 'knowledge/*.md' })).toBe('knowledge/tone.md');
  expect(await ok('Glob', { pattern: '**/*.{md,txt}' })).toContain('files/a/kind.txt');
  expect(await ok('Glob', { pattern: 'knowledge/**/*.md' })).toBe('knowledge/deep/refunds.md\nknowledge/tone.md');
  expect(await ok('Glob', { pattern: 'nothing/*' })).toBe('no file matches');
  expect(await ok('Grep', { pattern: 'be kind', ignore_case: true, path: 'knowledge' })).toBe(
    'knowledge/tone.md:1: Be kind.\nknowledge/tone.md:3: Be kind again.',
  );
  expect(await ok('Grep', { pattern: 'kind$' })).toBe('files/a/kind.txt:1: so kind');
});

test('a hostile pattern costs its own call about the work of any other', async () => {
  const { call, ok } = await createToolLane({ files: { 'knowledge/long.md': `${'a'.repeat(20_000)}!` } });
  const grep = cpuUnit(() => call('Grep', { pattern: 'b$' }));
  const glob = cpuUnit(() => call('Glob', { pattern: '*.md' }));
  for (const pattern of ['^(a+)+$', '(']) await expectCpu(() => call('Grep', { pattern }), { atMost: 30, unit: grep });
  for (const pattern of ['*a*a*a*a*a*a*a*a*a*a*a*b', '{a,b}'.repeat(200), '['])
    await expectCpu(() => call('Glob', { pattern }), { atMost: 30, unit: glob });
  expect(await ok('Glob', { pattern: 'knowledge/long.md' })).toBe('knowledge/long.md');
});

test.each([
  ['../secret', '".." part'],
  ['outputs/../../x', '".." part'],
  ['/etc/passwd', 'absolute path'],
  ['/work/../x', '".." part'],
  ['outputs/a\0b', 'control character'],
  ['outputs\\a', 'backslash'],
  ['outputs/%2e%2e/x', 'percent-encoded'],
  ['outputs//x', 'empty'],
  ['outputs/.git/config', 'git keeps for itself'],
  ['', 'is empty'],
  ['x'.repeat(2_000), 'is over 1024'],
])('security 29: no tool takes the path %.40s', async (path, words) => {
  const { fails } = await createToolLane();
  expect(await fails('Read', { path })).toContain(words);
  expect(await fails('Write', { path, content: 'x' })).toContain(words);
  expect(await fails('Edit', { path, old_string: 'a', new_string: 'b' })).toContain(words);
  expect(await fails('save_to_storage', { path, content: 'x' })).toContain(words);
  expect(await fails('save_to_storage', { path: 'storage/x', from: path })).toContain(words);
});

test('Write and Edit stay within outputs/, files/ and the own memory, and say so', async () => {
  const { fails, other, context } = await createToolLane({ files: FILES });
  const places = 'you may write under outputs/, files/, memory/writer/';
  for (const path of [
    'knowledge/tone.md',
    'memory/other/x.md',
    'AGENTS.md',
    'saved/x',
    'steps/research.md',
    'storage/x',
    'outputs',
    'tools/x.md',
  ]) {
    expect(await fails('Write', { path, content: 'x' })).toContain(places);
  }
  expect(await fails('Edit', { path: 'knowledge/tone.md', old_string: 'short', new_string: 'long' })).toContain(places);
  const reader = await other({ agent: { ...context.agent, memory: null } });
  expect(await reader.fails('Write', { path: 'memory/writer/x.md', content: 'x' })).toContain('under outputs/, files/');
  expect(await fails('Write', { path: 'memory/writer/x.txt', content: 'x' })).toContain('ends in .md');
});

test('Edit replaces a piece that occurs once, or all when asked', async () => {
  const { ok, fails } = await createToolLane();
  await ok('Write', { path: 'files/x.txt', content: 'one two two $& three' });
  const edit = (old_string: string, new_string: string, more = {}) => ({
    path: 'files/x.txt',
    old_string,
    new_string,
    ...more,
  });
  await ok('Edit', edit('one', '$1 $$'));
  expect(await ok('Read', { path: 'files/x.txt' })).toBe('$1 $$ two two $& three');
  expect(await fails('Edit', edit('two', 'x'))).toContain('occurs 2 times');
  expect(await fails('Edit', edit('four', 'x'))).toContain('not in the file');
  expect(await fails('Edit', edit('', 'x'))).toContain('is empty');
  expect(await fails('Edit', { ...edit('a', 'b'), path: 'files/none' })).toContain('make it with Write');
  await ok('Edit', edit('two', '2', { replace_all: true }));
  expect(await ok('Read', { path: 'files/x.txt' })).toBe('$1 $$ 2 2 $& three');
});

test('what is missing, a folder, or no text is told with what to do', async () => {
  const { fails, context, ok } = await createToolLane({ files: FILES });
  await writeFile(join(context.folder.work, 'files/picture'), Buffer.from([0xff, 0xd8, 0x00]));
  expect(await fails('Read', { path: 'knowledge/none.md' })).toBe(
    'there is no file knowledge/none.md: list what there is with Glob',
  );
  expect(await fails('Read', { path: 'knowledge' })).toContain(
    'is a folder; in it: knowledge/deep/refunds.md, knowledge/tone.md',
  );
  expect(await fails('Read', { path: 'files/picture' })).toContain('is not text (3 bytes)');
  expect(await fails('Read', { path: 'knowledge/tone.md', offset: 0 })).toContain('"offset" must be a whole number');
  expect(await fails('Read', { path: 7 })).toBe('"path" must be a text');
  expect(await ok('Read', { path: 'knowledge/tone.md', offset: 99 })).toBe('(the file has 4 lines)');
});

test('security 23: links that a program left lead Read, Write and Edit nowhere', async () => {
  const { fails, ok, context, deps } = await createToolLane();
  const { work } = context.folder;
  await writeFile(join(deps.config.dataDir, 'install-keys'), 'canary');
  await symlink(join(deps.config.dataDir, 'install-keys'), join(work, 'files/key'));
  await symlink(deps.config.dataDir, join(work, 'files/out'));
  expect(await fails('Read', { path: 'files/key' })).toContain('symbolic link');
  expect(await fails('Read', { path: 'files/out/install-keys' })).not.toContain('canary');
  expect(await fails('Write', { path: 'files/out/install-keys', content: 'x' })).toContain('cannot be written');
  expect(await fails('save_to_storage', { path: 'storage/x', from: 'files/key' })).toContain('symbolic link');
  expect(await ok('Grep', { pattern: 'canary' })).toBe('no line matches');
  await ok('Write', { path: 'files/key', content: 'mine now' });
  expect(await ok('Read', { path: 'files/key' })).toBe('mine now');
  await mkdir(join(work, 'files/dir'));
  expect(await fails('Write', { path: 'files/dir', content: 'x' })).toContain('there is a folder of this name');
});

test('security 23: a pipe that a program left does not block Read', async () => {
  const { fails, ok } = await createToolLane();
  await ok('Bash', {
    command: 'mkfifo files/pipe; cd files; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'sock\')"',
  });
  expect(await fails('Read', { path: 'files/pipe' })).toContain('not a regular file');
  expect(await fails('Read', { path: 'files/sock' })).toContain('cannot be opened');
});

test('a long result is cut in the middle and can be read whole', async () => {
  const { ok } = await createToolLane({ files: { 'knowledge/long.md': `begin${'x'.repeat(50_000)}end` } });
  const text = await ok('Read', { path: 'knowledge/long.md' });
  expect(text.length).toBeLessThanOrEqual(30_000);
  expect(text).toMatch(/^begin[\s\S]*x\n\n\[… the middle of 50008 characters is left out[\s\S]*end$/);
  const saved = /saved\/\S+\.txt/.exec(text)?.[0] ?? '';
  expect(await ok('Bash', { command: `wc -c < .${saved}` })).toBe('50008\n');
  expect(await ok('Read', { path: saved, offset: 1, limit: 1 })).toMatch(/^begin/);
});
