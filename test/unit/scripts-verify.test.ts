import { expect, test } from 'vitest';
import { checkCasts } from '../../scripts/verify/casts.mjs';
import { checkFailpoints } from '../../scripts/verify/failpoints.mjs';
import { figuresOf } from '../../scripts/verify/figures.mjs';
import { checkFileLengths } from '../../scripts/verify/file-length.mjs';
import { importsOf } from '../../scripts/verify/imports.mjs';
import { checkLayers } from '../../scripts/verify/layers.mjs';
import { checkLinks } from '../../scripts/verify/links.mjs';
import { checkLogErrors } from '../../scripts/verify/log-errors.mjs';
import { checkPlainWords } from '../../scripts/verify/plain-words.mjs';
import { checkPrismaUse } from '../../scripts/verify/prisma-use.mjs';
import { checkSpawns } from '../../scripts/verify/spawns.mjs';
import { checkTestLimits } from '../../scripts/verify/test-limits.mjs';
import { checkUnfinished } from '../../scripts/verify/unfinished.mjs';

const files = (entries: Record<string, string>) => new Map(Object.entries(entries));
const importing = (specifier: string) => `import { x } from '${specifier}';\n`;

const NOT_LOWER = 'is not in a lower tier';
const DOOR = 'use the door of';

test.each([
  ['src/shared/a.ts', '../platform/config/index.js', NOT_LOWER],
  ['src/format/check/a.ts', '../../platform/db/contract.js', NOT_LOWER],
  ['src/contract/a.ts', '../format/index.js', NOT_LOWER],
  ['src/workflows/a.ts', '../platform/temporal/index.js', NOT_LOWER],
  ['src/platform/config/a.ts', '../db/index.js', NOT_LOWER],
  ['src/platform/db/a.ts', '../../runs/index.js', NOT_LOWER],
  ['src/models/a.ts', '../sandbox/index.js', NOT_LOWER],
  ['src/people/keys/a.ts', '../../content/index.js', NOT_LOWER],
  ['src/content/deploys/a.ts', '../../evals/index.js', NOT_LOWER],
  ['src/triggers/a.ts', '../notify/index.js', NOT_LOWER],
  ['src/runs/a.ts', '../api/app.js', NOT_LOWER],
  ['src/runs/a.ts', '../main.js', NOT_LOWER],
  ['src/runs/a.ts', '../content/deploys/apply-tree.js', DOOR],
  ['src/runs/a.ts', '../platform/db/pool.js', DOOR],
  ['src/engine/a.ts', '../workflows/run-flow.js', DOOR],
  ['src/activities/a.ts', '../platform/db/contract.js', 'an activity only calls a verb of a service'],
  ['src/api/a.ts', '../platform/db/contract.js', 'a route only calls a verb of a service'],
  ['src/api/a.ts', '../runs/decide-run.js', DOOR],
  ['src/runs/a.ts', '../../scripts/build.mjs', 'leads out of src'],
  ['src/stray/a.ts', '../shared/ids.js', 'is not in the layer table'],
])('%s may not import %s', (path, specifier, why) => {
  expect(checkLayers(files({ [path]: importing(specifier) }))).toEqual([expect.stringContaining(why)]);
});

test.each([
  ['src/runs/a.ts', '../platform/db/contract.js'],
  ['src/runs/a.ts', '../content/index.js'],
  ['src/runs/a.ts', '../format/parse/read-flow.js'],
  ['src/runs/a.ts', './internal/b.js'],
  ['src/runs/a.ts', '../deps.js'],
  ['src/content/deploys/a.ts', '../workspaces/b.js'],
  ['src/engine/a.ts', '../workflows/contract.js'],
  ['src/platform/embedded/a.ts', '../db/index.js'],
  ['src/api/routes/runs.ts', '../define-route.js'],
  ['src/api/routes/runs.ts', '../../contract/runs.js'],
  ['src/main.ts', './platform/embedded/index.js'],
])('%s may import %s', (path, specifier) => {
  expect(checkLayers(files({ [path]: importing(specifier) }))).toEqual([]);
});

test('a workflow that reaches Node over other files is told the way there', () => {
  const reached = files({
    'src/workflows/lane.ts': importing('../shared/ids.js'),
    'src/shared/ids.ts': importing('node:crypto'),
  });
  expect(checkLayers(reached)).toEqual([
    expect.stringContaining('src/workflows/lane.ts -> src/shared/ids.ts -> node:crypto'),
  ]);
});

test('a workflow may use the types of a file that needs Node', () => {
  const typesOnly = files({
    'src/workflows/lane.ts': "import type { Id } from '../shared/ids.js';\n",
    'src/shared/ids.ts': importing('node:crypto'),
  });
  expect(checkLayers(typesOnly)).toEqual([]);
});

test.each(['const { env } = process;', "import { env } from 'node:process';", "process['env'].HOME;"])(
  'the environment is not read behind the linter: %s',
  (text) => {
    expect(checkLayers(files({ 'src/runs/a.ts': text }))).toEqual([
      expect.stringContaining('only src/platform/config'),
    ]);
    expect(checkLayers(files({ 'src/platform/config/a.ts': text }))).toEqual([]);
  },
);

test('imports are read over lines, as types, as re-exports and as calls, and not out of comments', () => {
  const text = [
    'import {',
    '  one,',
    "} from 'one';",
    "import type { Two } from 'two';",
    "export * from 'three';",
    "import 'four';",
    "const five = await import('five');",
    "// import { six } from 'six';",
    "/* import { seven } from 'seven'; */",
  ].join('\n');
  expect(importsOf(text)).toEqual([
    { specifier: 'one', typeOnly: false, line: 3 },
    { specifier: 'two', typeOnly: true, line: 4 },
    { specifier: 'three', typeOnly: false, line: 5 },
    { specifier: 'four', typeOnly: false, line: 6 },
    { specifier: 'five', typeOnly: false, line: 7 },
  ]);
});

test('a file of 400 lines passes and one of 401 does not', () => {
  const lines = (count: number) => 'x\n'.repeat(count);
  const faults = checkFileLengths(files({ 'src/a.ts': lines(400), 'src/b.ts': lines(401), 'docs.md': lines(900) }));
  expect(faults).toEqual([expect.stringContaining('src/b.ts: 401 lines')]);
});

test('links to missing files and headings are found, and those in code or into the net are left alone', () => {
  const docs = files({
    'README.md': [
      '# Signalbox',
      '[there](docs/a.md) [heading](docs/a.md#two-words) [own](#signalbox) [net](https://example.com/x#y)',
      '`[code](nowhere.md)`',
      '```',
      '[code](nowhere.md)',
      '```',
      '[gone](docs/gone.md) and [no heading](docs/a.md#three)',
      '[label]: missing.png',
    ].join('\n'),
    'docs/a.md': '## Two words\n## Two words\n[second](#two-words-1) [up](../README.md)',
  });
  expect(checkLinks(docs, () => false)).toEqual([
    'README.md:7: docs/gone.md: there is no such file.',
    'README.md:7: docs/a.md#three: docs/a.md has no such heading.',
    'README.md:8: missing.png: there is no such file.',
  ]);
});

test('a document with an odd word is refused with the plain one, and other files are left alone', () => {
  const text = '# Told\n\n```\nnobody\n```\n\n`anew` and there is no gap. It is no gap.\n';
  const faults = checkPlainWords(files({ 'docs/a.md': text, 'LICENSE.md': text, 'test/a.ts': text }));
  expect(faults).toEqual([
    'docs/a.md:1: "Told" is not a plain word here: write notified, reported or recorded.',
    'docs/a.md:7: "is no" is not a plain word here: write "is not a …" or "invalid …".',
  ]);
});

test.each([
  ['const x = resetTold();', 'Told'],
  ['tellNow(deps);', 'tell'],
  ["log.warn({ err }, 'nobody answers');", 'nobody'],
  ["throw new Refusal('refused', 'url is no address');", 'is no'],
  ['/** Whoever comes next. */', 'Whoever'],
  ['const shelf = readShelf();', 'shelf'],
  ["log.info({}, 'the run goes on');", 'goes on'],
  ['// A row that fails is put off.', 'put off'],
  ['// The lane needs it no longer, or not any more.', 'any more'],
  ["throw new Refusal('refused', 'a link is not taken');", 'is not taken'],
])('code with an odd word is refused: %s', (line, word) => {
  expect(checkPlainWords(files({ 'src/a.ts': `\n${line}\n` }))).toEqual([
    expect.stringContaining(`src/a.ts:2: "${word}" is not a plain word here: write `),
  ]);
});

test('a plain word that holds an odd one is code as good as any', () => {
  const text = '// There is no intelligent threshold, and it is no longer in the storyteller.\n';
  expect(checkPlainWords(files({ 'src/a.ts': text }))).toEqual([]);
});

// Spelled in halves, so that this file passes its own check.
test.each([
  `// ${'TO'}DO: later`,
  `test${'.sk'}ip('x')`,
  `it${'.on'}ly('x')`,
  `throw new Error('not ${'implemented'}')`,
])('unfinished work is named with its line: %s', (line) => {
  expect(checkUnfinished(files({ 'src/a.ts': `\n${line}\n` }))).toEqual([expect.stringContaining('src/a.ts:2')]);
  expect(checkUnfinished(files({ 'docs/a.md': line }))).toEqual([]);
});

test('a cast to never is refused in a route, and elsewhere without its reason', () => {
  const cast = `return c.json(page as ${'never'}, 200);`;
  const faultsAt = (path: string, ...lines: string[]) => checkCasts(files({ [path]: lines.join('\n') }));
  expect(faultsAt('src/api/routes/runs/a.ts', '// The library types it so.', cast)).toEqual([
    expect.stringContaining('src/api/routes/runs/a.ts:2: `as never` in a route'),
  ]);
  expect(faultsAt('src/runs/a.ts', '', cast)).toEqual([expect.stringContaining('src/runs/a.ts:2')]);
  expect(faultsAt('src/runs/a.ts', '// The library types it so.', cast)).toEqual([]);
  expect(faultsAt('src/runs/a.ts', `throw new Error('it w${'as never'} loaded');`)).toEqual([]);
  expect(faultsAt('src/platform/db/generated/a.ts', cast)).toEqual([]);
});

test('a failpoint without a row is refused, and a row without a failpoint', () => {
  const table = "export const FAILPOINTS = {\n  parked: 'a wait',\n  'signal-sent': 'a decision',\n} as const;\n";
  const check = (code: string) => checkFailpoints(files({ 'src/shared/failpoint.ts': table, 'src/runs/a.ts': code }));
  expect(check("failpoint('parked');\nfailpoint(kind === 'start' ? 'parked' : 'signal-sent');\n")).toEqual([]);
  expect(check("failpoint('parked');\n")).toEqual([expect.stringContaining('no code calls the failpoint signal-sent')]);
  expect(check("failpoint(x ? 'parked' : 'signal-sent');\nfailpoint('stray');\n")).toEqual([
    expect.stringContaining('src/runs/a.ts: the failpoint stray has no row'),
  ]);
});

test.each([
  ['deps.log.warn({ error, run }, "x")', 'error'],
  ['log?.error({ run: { id, at: [1, 2] }, error: errorMessage(error) }, "x")', 'error: errorMessage(error)'],
  ['c.var.log.info({ err: errorMessage(error) })', 'err: errorMessage(error)'],
  ['log.warn({ why: failure })', 'why: failure'],
  ['log.warn({ err: error.message })', 'err: error.message'],
  ['log.child({ cause: reason })', 'cause: reason'],
])('a log line with another spelling of its error is refused: %s', (code, entry) => {
  expect(checkLogErrors(files({ 'src/runs/a.ts': `\n${code};\n` }))).toEqual([
    `src/runs/a.ts:2: "${entry}": log an error as \`err\`, whole: only there the log writes its message, stack and cause.`,
  ]);
});

test.each(['log.warn({ err, run })', 'log.warn({ run, err: error, reason: "x" })', 'log.error({}, "an error")'])(
  'a log line with its error under err passes: %s',
  (code) => expect(checkLogErrors(files({ 'src/runs/a.ts': code }))).toEqual([]),
);

test('a run’s path has no query by Prisma Client, and others may', () => {
  const code = 'const db = 1;\nawait deps.db.prisma.run.findMany({});\n';
  expect(checkPrismaUse(files({ 'src/engine/rows/a.ts': code, 'src/runs/a.ts': code }))).toEqual([
    "src/engine/rows/a.ts:2: a query by Prisma Client on a run's path: write named SQL here.",
  ]);
});

test('findUnique of Prisma Client is refused, since it merges the queries of requests', () => {
  const code = (method: string) => `await prisma.run.${method}({});\n`;
  expect(
    checkPrismaUse(files({ 'src/runs/a.ts': code('findUniqueOrThrow'), 'src/runs/b.ts': code('findFirst') })),
  ).toEqual(['src/runs/a.ts:1: Prisma merges findUnique calls: use findFirst.']);
});

test('the service starts programs by spawnProcess alone', () => {
  const spawning = "import { type ChildProcess, spawn } from 'node:child_process';";
  expect(checkSpawns(files({ 'src/git/a.ts': spawning }))).toEqual([
    expect.stringContaining('src/git/a.ts: spawn of node:child_process: use spawnProcess'),
  ]);
  expect(checkSpawns(files({ 'src/shared/spawn-process.ts': spawning, 'bench/a.ts': spawning }))).toEqual([]);
  expect(checkSpawns(files({ 'src/a.ts': "import { execFile } from 'node:child_process';" }))).toEqual([]);
});

test('a test that a busy machine would fail is refused: a short limit, and an assertion of how long work took', () => {
  const path = 'test/api/a.test.ts';
  // In parts, so that this file is not refused.
  const timeout = (ms: string) => `{ ${'timeout'}: ${ms} }`;
  const timed = `expect(Date.now() - began).${'toBeLessThan'}(500);`;
  const short = `await expect.poll(ask, ${timeout('30_000')}).toBe(1);`;
  expect(checkTestLimits(files({ [path]: `${short}\n${timed}\n` }))).toEqual([
    expect.stringMatching(/^test\/api\/a\.test\.ts: timeout. 30_000: remove it/),
    expect.stringMatching(/^test\/api\/a\.test\.ts: expect\(Date.*: compare CPU time/),
  ]);
  const others = [timeout('240_000'), timeout('1'), timeout('300s'), 'expect(list.length).toBeLessThan(5_000)'].join(
    ' ',
  );
  expect(checkTestLimits(files({ [path]: others, 'src/a.ts': short }))).toEqual([]);
});

test('figures count what the sources hold, and what one route and a run load', () => {
  const figures = figuresOf(
    files({
      'README.md': '# Ä\n',
      'src/api/routes/workspaces.ts': "import { a } from './a.js';\nimport type { T } from './type.js';\n",
      'src/api/routes/a.ts': "import { b } from '../../shared/index.js';\nexport const a = b as never;\n",
      'src/api/routes/type.ts': 'export type T = 1;\n',
      'src/shared/index.ts': "export const b = setInterval(() => sql.query('SELECT 1'), 1);\n",
      'src/activities/index.ts': 'await prisma.member.findMany();\n',
      'src/platform/db/generated/client.ts': 'x as never;\n',
    }),
  );
  expect(figures).toMatchObject({
    files: 5,
    'doors (index.ts)': 2,
    'files with one importer': 3,
    'files that one route reaches': 3,
    'files that a run reaches': 1,
    'as never': 1,
    setInterval: 1,
    'statements by Prisma Client': 1,
    'statements by SQL': 1,
    'README, bytes': 5,
    'ARCHITECTURE, bytes': 0,
  });
});
