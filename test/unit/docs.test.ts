import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LAYERS } from '../../scripts/verify/layer-table.mjs';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const folders = (path: string) =>
  readdirSync(new URL(`../../${path}`, import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);

/** The names in code style of a table's first column. */
function firstColumn(text: string): string[] {
  const cells = [...text.matchAll(/^\| (`[^|]+) \|/gm)].map((row) => row[1] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((name) => name[1] ?? ''));
}

const section = (text: string, heading: string) =>
  text.split(/^(?=## )/m).find((part) => part.startsWith(heading)) ?? '';

/** For tests, or for a route that there is none of: nothing to tell people who run the service. */
const INTERNAL = ['SERVICE_FAILPOINT', 'SERVICE_METRICS_TOKEN'];

test('the README names every variable that the configuration reads, and no other', () => {
  const sources = readdirSync(new URL('../../src/config/', import.meta.url)).map((name) => read(`src/config/${name}`));
  const named = sources.join('\n').matchAll(/'((?:SERVICE|DATABASE|TEMPORAL|OPENAI|ANTHROPIC|GOOGLE)_[A-Z0-9_]+)'/g);
  const variables = new Set([...named].map((match) => match[1] ?? '').filter((name) => !INTERNAL.includes(name)));
  const documented = firstColumn(section(read('README.md'), '## Configuration'));
  expect(documented.toSorted()).toEqual([...variables].toSorted());
});

test('every folder of src has its row in the table of ARCHITECTURE.md and in the layer table', () => {
  const documented = firstColumn(section(read('ARCHITECTURE.md'), '## Who may import whom'));
  expect(documented.filter((name) => !name.endsWith('.ts')).toSorted()).toEqual(folders('src').toSorted());
  expect(Object.keys(LAYERS)).toEqual(expect.arrayContaining(folders('src')));
});
