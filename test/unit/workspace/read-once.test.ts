import { expect, test } from 'vitest';
import { placeOf } from '../../../src/format/parse/place.js';
import { Reader } from '../../../src/format/parse/read-once.js';

const file = (path: string, text: string) => ({ path, content: new TextEncoder().encode(text) });
const read = (reader: Reader, path: string, text: string) => reader.read(file(path, text), placeOf(path));

test('a document with the bytes of before is not read again; with others, or of another path, it is', () => {
  const reader = new Reader();
  const first = read(reader, 'knowledge/a.md', '# A\n');
  expect(first?.model).toMatchObject({ kind: 'document', title: 'A' });
  expect(read(reader, 'knowledge/a.md', '# A\n')).toBe(first);
  expect(read(reader, 'knowledge/b.md', '# A\n')).not.toBe(first);
  const other = read(reader, 'knowledge/a.md', '# B\n');
  expect(other?.model).toMatchObject({ title: 'B' });
  expect(read(reader, 'knowledge/a.md', '# B\n')).toBe(other);
});

test('what was read keeps its own copy of the bytes', () => {
  const reader = new Reader();
  const { content } = file('knowledge/a.md', '# A\n');
  const first = reader.read({ path: 'knowledge/a.md', content }, placeOf('knowledge/a.md'));
  content[2] = 66;
  const second = reader.read({ path: 'knowledge/a.md', content }, placeOf('knowledge/a.md'));
  expect(second).not.toBe(first);
  expect(second?.model).toMatchObject({ title: 'B' });
});

test('bytes that are no UTF-8 are no text, though the path was read before', () => {
  const reader = new Reader();
  read(reader, 'knowledge/a.md', '# A\n');
  const content = Uint8Array.of(0xff, 0xfe);
  expect(reader.read({ path: 'knowledge/a.md', content }, placeOf('knowledge/a.md'))).toBeNull();
});

test('four mebibytes are kept and no more, until what no tree has is forgotten', () => {
  const reader = new Reader();
  const large = 'x'.repeat(256 * 1024);
  for (let n = 0; n < 17; n += 1) read(reader, `knowledge/${n}.md`, large);
  const isKept = (path: string, text: string) => {
    const first = read(reader, path, text);
    return read(reader, path, text) === first;
  };
  expect(isKept('knowledge/0.md', large)).toBe(true);
  expect(isKept('knowledge/16.md', large)).toBe(false);
  for (let tree = 0; tree < 32; tree += 1) reader.next();
  expect(isKept('knowledge/16.md', large)).toBe(true);
});
