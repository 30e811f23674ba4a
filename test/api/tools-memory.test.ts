import { expect, test } from 'vitest';
import { createToolLane } from '../support/tool-lane.js';

const FILES = { 'memory/writer/notes.md': 'Old note.\n', 'memory/shared.md': 'All read this.\n' };
const path = 'memory/writer/notes.md';

/** What a memory file says below the frontmatter that the service writes. */
const textOf = (file: string): string => file.replace(/^---\n[\s\S]*?\n---\n\n/, '');

test('a memory file must have been read in this run before it is changed', async () => {
  const { fails, ok, call } = await createToolLane({ files: FILES });
  expect(await fails('Write', { path, content: 'New.' })).toBe(
    `${path} exists and you have not read it: Read it first, then change it`,
  );
  expect(await fails('Edit', { path, old_string: 'Old', new_string: 'New' })).toContain('Read it first');
  await ok('Read', { path });
  expect(await call('Edit', { path, old_string: 'Old', new_string: 'New' })).toMatchObject({
    isError: false,
    memoryWrite: path,
  });
  expect(textOf(await ok('Read', { path }))).toBe('New note.\n');
});

test('a new memory file needs no reading, and only what really changes is a memory write', async () => {
  const { call } = await createToolLane({ files: FILES });
  const fresh = { path: 'memory/writer/fresh.md', content: 'First.' };
  expect((await call('Write', fresh)).memoryWrite).toBe('memory/writer/fresh.md');
  expect((await call('Write', fresh)).memoryWrite).toBeUndefined();
  expect((await call('Write', { ...fresh, content: 'Second.' })).memoryWrite).toBe('memory/writer/fresh.md');
});

test('a change by another run since the reading is told, with what to do', async () => {
  const mine = await createToolLane({ files: FILES });
  const theirs = await mine.other({ run: `${mine.context.run.id}b` });
  await mine.ok('Read', { path });
  await theirs.ok('Read', { path });
  await theirs.ok('Write', { path, content: 'Theirs.' });
  expect(await mine.fails('Write', { path, content: 'Mine.' })).toEqual(
    expect.stringMatching(/was changed by the agent writer in another run since you read it/),
  );
  expect(textOf(await mine.ok('Read', { path }))).toBe('Theirs.');
  await mine.ok('Edit', { path, old_string: 'Theirs.', new_string: 'Theirs, and mine.' });
  expect(textOf(await theirs.ok('Read', { path }))).toBe('Theirs, and mine.');
});

test('programs see memory as it is now, read-only', async () => {
  const { ok, call } = await createToolLane({ files: FILES });
  expect(await ok('Bash', { command: `cat ${path}` })).toBe('Old note.\n');
  await ok('Read', { path });
  await ok('Write', { path, content: 'Newer.' });
  expect(textOf(await ok('Bash', { command: `cat ${path}; ls memory` }))).toBe('Newer.shared.md\nwriter\n');
  const { isError, text } = await call('Bash', { command: `echo mine > ${path}` });
  expect({ isError, text }).toMatchObject({ isError: true, text: expect.stringContaining('Read-only file system') });
  expect(textOf(await ok('Read', { path }))).toBe('Newer.');
});

test("an eval's memory is a copy that its whole run sees and that changes nothing", async () => {
  const live = await createToolLane({ files: FILES });
  const evaluated = await live.other({ mode: 'eval', run: `${live.context.run.id}e` });
  expect(await evaluated.fails('Write', { path, content: 'x' })).toContain('Read it first');
  await evaluated.ok('Read', { path });
  expect((await evaluated.call('Write', { path, content: 'Tried.' })).memoryWrite).toBe(path);
  const lane = await evaluated.other({ lane: 'group.1' });
  expect(textOf(await lane.ok('Read', { path }))).toBe('Tried.');
  expect(textOf(await lane.ok('Bash', { command: `cat ${path}` }))).toBe('Tried.');
  expect(await lane.ok('Glob', { pattern: 'memory/**' })).toBe('memory/shared.md\nmemory/writer/notes.md');
  expect(await live.ok('Read', { path })).toBe('Old note.\n');
});

test('a write that no longer holds its lane changes nothing', async () => {
  const { call, ok } = await createToolLane({ files: FILES });
  await ok('Read', { path });
  const guard = () => Promise.reject(new Error('fenced'));
  await expect(call('Write', { path, content: 'Late.' }, { guard })).rejects.toThrow('fenced');
  await expect(call('save_to_storage', { path: 'storage/x.txt', content: 'Late.' }, { guard })).rejects.toThrow(
    'fenced',
  );
  expect(await ok('Read', { path })).toBe('Old note.\n');
  expect(await ok('Glob', { pattern: 'storage/**' })).toBe('no file matches');
});
