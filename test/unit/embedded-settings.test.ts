import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { explainStart } from '../../src/platform/embedded/server-log.js';
import { PortTaken, StartError } from '../../src/platform/embedded/start-error.js';
import { readTemporalSettings } from '../../src/platform/embedded/temporal-settings.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-settings-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('temporal-dev.yaml holds what was measured to matter', async () => {
  expect(await readTemporalSettings()).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    namespace: 'signalbox',
    sqlitePragmas: { journal_mode: 'wal', synchronous: 1 },
    dynamicConfig: {
      'system.enableActivityEagerExecution': true,
      'history.transferProcessorMaxPollRPS': 2000,
      'history.timerProcessorMaxPollRPS': 1000,
      'history.visibilityProcessorMaxPollRPS': 1000,
    },
  });
});

test.each([
  ['version: 1.5', 'version'],
  ['version: 1.5.1\nnamespace: x\nretention: 3 days', 'retention'],
  ['version: 1.5.1\nnamespaces: x', 'namespaces'],
  ['version: [', 'cannot be used'],
])('a mistake in the settings (%j) is named', async (text, named) => {
  const file = join(folder, 'temporal-dev.yaml');
  writeFileSync(file, text);
  const failing = readTemporalSettings(file);
  await expect(failing).rejects.toBeInstanceOf(StartError);
  await expect(failing).rejects.toThrow(named);
});

const lines = [
  ['FATAL:  could not write lock file "postmaster.pid": No space left on device', 'is full: free some space'],
  ['PANIC:  could not locate a valid checkpoint record', 'restore the folder from a backup'],
  ['FATAL:  could not open file "x": Permission denied', 'give this user the right to'],
  ['FATAL:  lock file "postmaster.pid" already exists', 'Another Postgres still uses'],
  ['FATAL:  something new', 'Its last line: FATAL:  something new'],
] as const;

test.each(lines)('a server that wrote %j is explained by what to do', async (line, sentence) => {
  expect((await explain(line)).message).toContain(sentence);
});

test('only the lines of this start count, not those of earlier ones', async () => {
  const earlier = 'PANIC:  could not locate a valid checkpoint record\n';
  expect((await explain(`${earlier}FATAL:  fresh`, earlier.length)).message).toContain('Its last line: FATAL:  fresh');
});

test('a port that was taken meanwhile is told apart, because another may be tried', async () => {
  expect(await explain('FATAL:  could not bind IPv4 address "127.0.0.1": Address already in use')).toBeInstanceOf(
    PortTaken,
  );
});

async function explain(text: string, logStart = 0): Promise<StartError> {
  const logFile = join(folder, 'server.log');
  writeFileSync(logFile, text);
  return explainStart({ name: 'Postgres', logFile, logStart, port: 1, folder }, new Error('exit code 1'));
}
