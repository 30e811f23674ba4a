import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { TIERS } from '../../scripts/verify/layer-table.mjs';
import { linksOf } from '../../scripts/verify/links.mjs';
import { STATUS } from '../../src/api/errors.js';
import { ACCESS_ROWS } from '../support/access-rows.js';

const inRoot = (path: string) => new URL(`../../${path}`, import.meta.url);
const read = (path: string) => readFileSync(inRoot(path), 'utf8');
const folders = (path: string) =>
  readdirSync(inRoot(path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);

/** Every page below docs/, by its path from the root. */
const PAGES = readdirSync(inRoot('docs/'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .map((path) => `docs/${path}`);
const DOCUMENTS = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...PAGES];

const inCode = (text: string) => [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');

/** The names in code style of a table's first column. */
const firstColumn = (text: string) => [...text.matchAll(/^\| (`[^|]+) \|/gm)].flatMap((row) => inCode(row[1] ?? ''));

const section = (text: string, heading: string) =>
  text.split(/^(?=## )/m).find((part) => part.startsWith(heading)) ?? '';

/** For tests, or for a route that does not exist yet: users of the service do not set them. */
const INTERNAL = ['SERVICE_FAILPOINT', 'SERVICE_METRICS_TOKEN'];
/** An event of `notify` that nothing raises yet. */
const UNUSED = 'credit.low';

test('docs/operate/configuration.md names every variable that the configuration reads, and no other', () => {
  const sources = readdirSync(inRoot('src/platform/config/')).map((name) => read(`src/platform/config/${name}`));
  const named = sources.join('\n').matchAll(/'((?:SERVICE|DATABASE|TEMPORAL|OPENAI|ANTHROPIC|GOOGLE)_[A-Z0-9_]+)'/g);
  const variables = new Set([...named].map((match) => match[1] ?? '').filter((name) => !INTERNAL.includes(name)));
  expect(firstColumn(read('docs/operate/configuration.md')).toSorted()).toEqual([...variables].toSorted());
});

test('every folder of src is in the layer table, and ARCHITECTURE.md has the same tiers in the same order', () => {
  const documented = firstColumn(section(read('ARCHITECTURE.md'), '## Who may import whom'));
  expect(documented.filter((name) => !name.endsWith('.ts'))).toEqual(TIERS.flat());
  const parts = new Set(TIERS.flat().map((part) => part.split('/')[0] ?? ''));
  expect([...parts].toSorted()).toEqual(folders('src').toSorted());
});

test('README.md has at most 150 lines and 8 KB, ARCHITECTURE.md at most 12 KB', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(150);
  expect(Buffer.byteLength(read('README.md'))).toBeLessThanOrEqual(8 * 1024);
  expect(section(read('README.md'), '## Quick start').trim().split('\n').length).toBeLessThanOrEqual(40);
  expect(Buffer.byteLength(read('ARCHITECTURE.md'))).toBeLessThanOrEqual(12 * 1024);
});

test('every page of docs can be reached by links from README.md', () => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    for (const { target } of linksOf(read(page))) {
      const path = posix.join(posix.dirname(page), target.split('#')[0] ?? '');
      if (path.endsWith('.md') && existsSync(inRoot(path))) reached.add(path);
    }
  }
  expect(PAGES.filter((page) => !reached.has(page))).toEqual([]);
});

test('every path of the repository that the documents name exists', () => {
  const isPath = /^(?:src|scripts|test|docs|templates|prisma)\/[\w./-]+$/;
  const named = DOCUMENTS.flatMap((page) => inCode(read(page)).map((path) => ({ page, path })));
  const paths = named.filter(({ path }) => isPath.test(path));
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter(({ path }) => !existsSync(fileURLToPath(inRoot(path))))).toEqual([]);
});

test('docs/reference/api.md names every route, and no other', () => {
  const routes = new Set(Object.keys(ACCESS_ROWS).map((route) => route.split(' ')[1] ?? ''));
  const documented = firstColumn(section(read('docs/reference/api.md'), '## Routes'));
  expect(documented.toSorted()).toEqual([...routes].toSorted());
});

test('docs/guides/notifications.md names every event that is notified, and no other', () => {
  const list = read('src/format/parse/keys/common-keys.ts').match(/NOTIFY_EVENTS = \[([^\]]*)\]/)?.[1] ?? '';
  const events = [...list.matchAll(/'([a-z.]+)'/g)].map((match) => match[1] ?? '').filter((name) => name !== UNUSED);
  const documented = firstColumn(section(read('docs/guides/notifications.md'), '## Recipients and events'));
  expect(documented.toSorted()).toEqual(events.toSorted());
});

test('docs/reference/events.md names every event that the trace has words for', () => {
  const texts = [...read('src/runs/trace.ts').matchAll(/^ {2}'([a-z]+\.[a-z_]+)':/gm)].map((match) => match[1] ?? '');
  const documented = firstColumn(section(read('docs/reference/events.md'), '## Types'));
  expect(texts.length).toBeGreaterThan(20);
  expect(documented).toEqual(expect.arrayContaining(texts));
});

test('docs/reference/errors.md names every kind of error with its status', () => {
  const rows = Object.entries(STATUS).map(([kind, status]) => `| ${status} | \`${kind.replaceAll('_', '-')}\` |`);
  const page = read('docs/reference/errors.md');
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
});

test('docs/glossary.md defines each term once, in the order of the alphabet', () => {
  const terms = [...read('docs/glossary.md').matchAll(/^\| ([a-z][^|]*?) \|/gm)].map((row) => row[1] ?? '');
  expect(terms.length).toBeGreaterThanOrEqual(40);
  expect(terms).toEqual([...new Set(terms)].toSorted());
});
