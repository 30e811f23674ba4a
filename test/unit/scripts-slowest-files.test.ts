import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../scripts/lib/paths.mjs';
import { slowestFiles } from '../../scripts/lib/slowest-files.mjs';

const module = (name: string, [setup, load, tests]: readonly [number, number, number]) => ({
  moduleId: join(root, name),
  diagnostic: () => ({ setupDuration: setup, collectDuration: load, duration: tests }),
});

test('the slowest files of a run are listed with the time of their setup, imports, hooks and tests', () => {
  const modules = [module('test/a.test.ts', [0, 400, 100]), module('test/b.test.ts', [500, 1_500, 60_000])];
  expect(slowestFiles(modules, 20)).toEqual(['    62.0 s  test/b.test.ts', '     0.5 s  test/a.test.ts']);
});

test('no more files are listed than asked for', () => {
  const modules = Array.from({ length: 30 }, (_, n) => module(`test/${n}.test.ts`, [0, 0, n * 1_000]));
  expect(slowestFiles(modules, 2)).toEqual(['    29.0 s  test/29.test.ts', '    28.0 s  test/28.test.ts']);
});
