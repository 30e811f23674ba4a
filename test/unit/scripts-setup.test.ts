import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { countTests } from '../../scripts/lib/count-tests.mjs';
import { withSetupLock } from '../../scripts/lib/setup-lock.mjs';
import { hashOf, runOnce } from '../../scripts/lib/stamp.mjs';
import { checkNodeVersion } from '../../scripts/setup/node-version.mjs';
import { onPath } from '../../scripts/setup/on-path.mjs';
import { isInstalled } from '../../scripts/setup/packages.mjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-scripts-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each(['18.20.0', '20.18.9', '8.0.0'])('Node %s is refused with what to do', (version) => {
  expect(() => checkNodeVersion(version)).toThrow(/needs Node 20\.19 or newer.*install a newer one/);
});
test.each(['20.19.0', '20.20.2', '22.0.0', '24.1.0'])('Node %s is taken', (version) => {
  expect(() => checkNodeVersion(version)).not.toThrow();
});

test('work is done once for a hash, again for another, and again when what it made is gone', async () => {
  const [stamp, output] = [join(folder, 'stamp'), join(folder, 'output')];
  const done: string[] = [];
  const make = (hash: string) =>
    runOnce({ stamp, hash, outputs: [output] }, async () => {
      done.push(hash);
      writeFileSync(output, hash);
    });
  await make('a');
  await make('a');
  await make('b');
  rmSync(output);
  await make('b');
  expect(done).toEqual(['a', 'b', 'b']);
});

test('work that was cut short is done again, though an earlier stamp was there', async () => {
  const what = { stamp: join(folder, 'stamp'), outputs: [] };
  await runOnce({ ...what, hash: 'a' }, async () => {});
  await expect(runOnce({ ...what, hash: 'b' }, () => Promise.reject(new Error('cut short')))).rejects.toThrow(
    'cut short',
  );
  const again: string[] = [];
  await runOnce({ ...what, hash: 'a' }, async () => void again.push('a'));
  expect(again).toEqual(['a']);
});

test('the hash of a folder changes with a name and with a content', () => {
  const seen = new Set<string>();
  const remember = () => seen.add(hashOf([folder]));
  remember();
  writeFileSync(join(folder, 'a'), '1');
  remember();
  writeFileSync(join(folder, 'a'), '2');
  remember();
  rmSync(join(folder, 'a'));
  writeFileSync(join(folder, 'b'), '2');
  remember();
  expect(seen.size).toBe(4);
});

const INSTALLED = { 'node_modules/a': { version: '1.0.0', integrity: 'x' } };
test.each([
  ['the same', INSTALLED, true],
  ['another version', { 'node_modules/a': { version: '1.0.1', integrity: 'x' } }, false],
  ['another content', { 'node_modules/a': { version: '1.0.0', integrity: 'y' } }, false],
  ['a package that the lock does not name', { ...INSTALLED, 'node_modules/b': { version: '1.0.0' } }, false],
  ['none', {}, false],
  ['no record at all', null, false],
])('node_modules whose record says %s: installed is %s', (_name, packages, expected) => {
  const [lock, record] = [join(folder, 'lock.json'), join(folder, 'record.json')];
  const other = { 'node_modules/mac-only': { version: '1.0.0', optional: true } };
  writeFileSync(lock, JSON.stringify({ packages: { '': {}, ...INSTALLED, ...other } }));
  if (packages) writeFileSync(record, JSON.stringify({ packages }));
  expect(isInstalled(lock, record)).toBe(expected);
});

test('two set-ups of one folder never overlap', async () => {
  const lock = join(folder, 'lock');
  const events: string[] = [];
  const setUp = (name: string) =>
    withSetupLock(async () => {
      events.push(`${name} in`);
      await expect.poll(() => existsSync(lock)).toBe(true);
      events.push(`${name} out`);
    }, lock);
  await Promise.all([setUp('first'), setUp('second')]);
  expect(events).toEqual(['first in', 'first out', 'second in', 'second out']);
  expect(existsSync(lock)).toBe(false);
});

test('the lock of a set-up that was killed does not hold the next one', async () => {
  const lock = join(folder, 'lock');
  writeFileSync(lock, 'dead');
  utimesSync(lock, new Date(0), new Date(0));
  expect(await withSetupLock(async () => readFileSync(lock, 'utf8'), lock)).toBe(String(process.pid));
});

const report = (...results: { status: string; tests: string[] }[]) => ({
  testResults: results.map(({ status, tests }) => ({
    status,
    assertionResults: tests.map((each) => ({ status: each })),
  })),
});
test.each([
  ['all passed', report({ status: 'passed', tests: ['passed', 'passed'] }), 0, { passed: 2, failed: 0 }],
  ['one failed', report({ status: 'failed', tests: ['passed', 'failed'] }), 1, { passed: 1, failed: 1 }],
  ['a file that does not load', report({ status: 'failed', tests: [] }), 1, { passed: 0, failed: 1 }],
  [
    'an unhandled error beside passing tests',
    report({ status: 'passed', tests: ['passed'] }),
    1,
    { passed: 1, failed: 1 },
  ],
  ['no report', null, 134, { passed: 0, failed: 1 }],
] as const)('the count line tells of %s', (_name, given, exitCode, expected) => {
  expect(countTests(given as Parameters<typeof countTests>[0], exitCode)).toEqual(expected);
});

test('a program counts as there only where it can be run', () => {
  writeFileSync(join(folder, 'runs'), '', { mode: 0o755 });
  writeFileSync(join(folder, 'lies'), '', { mode: 0o644 });
  expect(['runs', 'lies', 'missing'].map((name) => onPath(name, `/nowhere:${folder}`))).toEqual([true, false, false]);
});
