import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createChecker } from '../../src/content/deploys/check-pool.js';
import { type Checker, checkTree } from '../../src/format/index.js';
import { kettleAndLeaf, NO_CONTEXT, tree } from './workspace/tree.js';

const folder = mkdtempSync(join(tmpdir(), 'check-pool-'));
const real = join(folder, 'check-worker.mjs');
/** Does what its one file's name says: a worker whose checks can be made to hang, to swallow memory or to end. */
const scripted = join(folder, 'scripted.mjs');
const open: Checker[] = [];

const pool = (options: Parameters<typeof createChecker>[0]) => {
  const made = createChecker(options);
  open.push(made);
  return made;
};
const named = (name: string) => tree({ [name]: 'text' });

beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL('../../src/content/deploys/check-worker.ts', import.meta.url))],
    outfile: real,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    logLevel: 'error',
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
  });
  writeFileSync(
    scripted,
    `import { parentPort } from 'node:worker_threads';
     const acts = {
       hang() { for (;;); },
       swallow() { const all = []; for (;;) all.push(new Array(100_000).fill(0)); },
       end() { process.exit(3); },
       fail() { throw new Error('broken'); },
       throwLater() { setImmediate(() => { throw new Error('later'); }); },
       env() { return Object.keys(process.env); },
     };
     parentPort.on('message', ({ input }) => {
       const name = input.text ?? input.files[0].path;
       const done = acts[name]?.() ?? [];
       if (name !== 'throwLater') parentPort.postMessage({ kind: 'done', output: { workspace: null, issues: done, urls: [] } });
     });
     parentPort.postMessage({ kind: 'ready' });`,
  );
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((made) => made.close()));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('a worker answers just what the check says', async () => {
  const files = tree(kettleAndLeaf());
  const broken = tree({ 'flows/a.md': '## A @nobody\n' });
  const checker = pool({ workerPath: real, timeoutMs: 60_000 });
  expect(await checker.check(files, NO_CONTEXT)).toEqual(checkTree(files, NO_CONTEXT));
  expect(await checker.check(broken, NO_CONTEXT)).toEqual(checkTree(broken, NO_CONTEXT));
});

test('edits are made in a worker too, and one that takes too long or too much is refused', async () => {
  const text = '## A @a\n\nGo.\n';
  const change = { kind: 'edit', step: 1, instruction: 'Stay.' } as const;
  const checker = pool({ workerPath: real, timeoutMs: 60_000 });
  expect(await checker.work('change-flow', { text, change })).toEqual({ ok: true, text: '## A @a\n\nStay.\n' });
  const bad = pool({ workerPath: scripted, timeoutMs: 500 });
  for (const hostile of ['hang', 'swallow']) {
    await expect(bad.work('read-flow', { text: hostile })).rejects.toMatchObject({ kind: 'refused' });
  }
});

test('the account’s library is in reach of a tree', async () => {
  const files = tree({
    'agents/a.md': '---\nname: a\ndescription: d\ntools: [shared]\n---\nHi\n',
    'flows/f.md': '## A @a\n\nGo.\n',
  });
  const library = tree({ 'tools/shared.md': '---\nname: shared\ndescription: d\nbase: https://a.example/\n---\n' });
  const checker = pool({ workerPath: real, timeoutMs: 60_000 });
  const codes = async (key: string, shelf: typeof library) =>
    (await checker.check(files, NO_CONTEXT, { key, files: shelf })).issues.map(({ code }) => code);
  expect(await codes('', [])).toContain('ref/tool');
  // More libraries than a worker keeps, each in turn on both workers, and all of them again.
  for (const key of ['a', 'b', 'c', 'a', 'c']) {
    const [one, two] = await Promise.all([codes(key, library), codes(`${key}-bare`, tree({ 'knowledge/k.md': 'x' }))]);
    expect(one).not.toContain('ref/tool');
    expect(two).toContain('ref/tool');
  }
});

describe('security 16: a hostile tree costs itself a refusal and nobody else anything', () => {
  test('one that takes too long is refused at its largest file, and the next ones are checked', async () => {
    const checker = pool({ workerPath: scripted, timeoutMs: 300 });
    const hostile = [...named('hang'), ...tree({ 'knowledge/big.md': 'x'.repeat(100) })];
    const answers = await Promise.all([
      checker.check(hostile, NO_CONTEXT),
      ...Array.from({ length: 20 }, () => checker.check(named('fine'), NO_CONTEXT)),
    ]);
    expect(answers[0]).toMatchObject({
      workspace: null,
      issues: [
        {
          path: 'knowledge/big.md',
          line: 1,
          column: 1,
          code: 'tree/too-large',
          severity: 'error',
          message: expect.stringContaining('0.3 s'),
        },
      ],
    });
    for (const answer of answers.slice(1)) expect(answer).toEqual({ workspace: null, issues: [], urls: [] });
  });

  test('two at once hold up a third only until their own time is over', async () => {
    const checker = pool({ workerPath: scripted, timeoutMs: 300 });
    const hostile = [checker.check(named('hang'), NO_CONTEXT), checker.check(named('hang'), NO_CONTEXT)];
    expect(await checker.check(named('fine'), NO_CONTEXT)).toEqual({ workspace: null, issues: [], urls: [] });
    for (const { issues } of await Promise.all(hostile)) expect(issues).toMatchObject([{ code: 'tree/too-large' }]);
  });

  test('one that swallows memory is refused, and the process lives', async () => {
    const checker = pool({ workerPath: scripted, timeoutMs: 60_000 });
    const { issues } = await checker.check(named('swallow'), NO_CONTEXT);
    expect(issues).toMatchObject([{ code: 'tree/too-large', message: expect.stringContaining('memory') }]);
    expect(await checker.check(named('fine'), NO_CONTEXT)).toEqual({ workspace: null, issues: [], urls: [] });
  });

  test('the limit holds for the real check', async () => {
    const files = tree(
      Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`knowledge/n${i}.md`, '# T\n\n- a\n'.repeat(300)])),
    );
    const { issues } = await pool({ workerPath: real, timeoutMs: 20 }).check(files, NO_CONTEXT);
    expect(issues).toMatchObject([{ code: 'tree/too-large' }]);
  });
});

test.each(['end', 'fail', 'throwLater'])('a worker that breaks (%s) fails its own check only', async (act) => {
  const checker = pool({ workerPath: scripted, timeoutMs: 20_000 });
  await expect(checker.check(named(act), NO_CONTEXT)).rejects.toThrow();
  const after = await Promise.all(Array.from({ length: 4 }, () => checker.check(named('fine'), NO_CONTEXT)));
  expect(after).toEqual(after.map(() => ({ workspace: null, issues: [], urls: [] })));
});

test('a worker that cannot be started is an error of the check, not of the process', async () => {
  const checker = pool({ workerPath: join(folder, 'missing.mjs') });
  await expect(checker.check(named('fine'), NO_CONTEXT)).rejects.toThrow();
  await expect(checker.check(named('fine'), NO_CONTEXT)).rejects.toThrow();
});

test('a worker sees nothing of the environment', async () => {
  expect((await pool({ workerPath: scripted }).check(named('env'), NO_CONTEXT)).issues).toEqual([]);
});

test('closing ends what runs and what waits, and takes nothing more', async () => {
  const checker = pool({ workerPath: scripted, timeoutMs: 60_000 });
  const waiting = ['hang', 'hang', 'fine'].map((name) => checker.check(named(name), NO_CONTEXT));
  const ended = Promise.allSettled(waiting);
  await checker.close();
  expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await expect(checker.check(named('fine'), NO_CONTEXT)).rejects.toThrow('closed');
});
