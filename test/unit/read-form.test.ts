import { expect, test } from 'vitest';
import { formValue } from '../../src/triggers/read-body.js';

test('security 16: a form of as many fields as fit into a body is read at once', () => {
  // Looked through anew for each of its names, this would take minutes.
  const names = Array.from({ length: 200_000 }, (_, n) => n.toString(36));
  const value = formValue(names.map((name) => [name, '1'] as const));
  expect(Object.keys(value as object)).toHaveLength(names.length);
});

test('a field that comes more than once is the list of its texts, whatever it is called', () => {
  const value = formValue([
    ['constructor', '1'],
    ['__proto__', '2'],
    ['constructor', '3'],
  ]);
  expect(value).toEqual(JSON.parse('{"constructor":["1","3"],"__proto__":"2"}'));
});
