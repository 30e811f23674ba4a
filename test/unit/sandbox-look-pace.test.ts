import { expect, test } from 'vitest';
import { createMeasurePace } from '../../src/sandbox/watch.js';

const GIB = 1024 ** 3;
const LIMITS = { work: GIB, workFiles: 100_000 };
const FREE = { bytes: 100 * GIB, files: 1_000_000 };

test('the first look is due at once', () => {
  expect(createMeasurePace(LIMITS).isDue(0, FREE)).toBe(true);
});

test.each([
  ['nothing was written', {}, false],
  ['a few bytes and files were written', { bytes: FREE.bytes - GIB / 5, files: FREE.files - 20_000 }, false],
  ['a quarter of the bytes was written', { bytes: FREE.bytes - GIB / 4 }, true],
  ['a quarter of the files was written, empty ones', { files: FREE.files - 25_000 }, true],
  ['files were removed', { bytes: FREE.bytes + GIB, files: FREE.files + 50_000 }, false],
])('after a slow look the next one is due early when the disk has filled: %s', (_what, change, isDue) => {
  const pace = createMeasurePace(LIMITS);
  pace.record(1_000, 5_000, FREE);
  expect(pace.isDue(40_999, { ...FREE, ...change })).toBe(isDue);
  expect(pace.isDue(41_000, FREE)).toBe(true);
});

test('a disk that never counts files is record at by its bytes and by time', () => {
  const pace = createMeasurePace(LIMITS);
  pace.record(1_000, 5_000, { bytes: GIB, files: 0 });
  expect(pace.isDue(2_000, { bytes: GIB, files: 0 })).toBe(false);
});
