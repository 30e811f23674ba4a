import { chmod, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../src/sandbox/index.js';
import { recordingLog } from '../support/recording-log.js';
import { createTestSandbox } from '../support/test-sandbox.js';

/** A PATH on which bwrap is what the test says: a script, or missing. */
async function withBubblewrap(script: string | null): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-path-'));
  await chmod(folder, 0o755);
  for (const name of ['bash', 'cat', 'sleep']) await symlink(`/usr/bin/${name}`, join(folder, name));
  if (script !== null) await writeFile(join(folder, 'bwrap'), script, { mode: 0o755 });
  const before = process.env.PATH;
  process.env.PATH = folder;
  onTestFinished(async () => {
    process.env.PATH = before;
    await removeFolder(folder);
  });
}

test('security 22: without bubblewrap programs are refused, and the reason says what to install', async () => {
  await withBubblewrap(null);
  const { sandbox, bash } = await createTestSandbox({ driver: 'auto' });
  expect(sandbox.driver).toBe('unavailable');
  expect(sandbox.reason).toContain('apt install bubblewrap');
  await expect(bash('true')).rejects.toMatchObject({ kind: 'unavailable', message: sandbox.reason });
});

test('security 22: SERVICE_SANDBOX=none runs programs on the host and says so in red', async () => {
  const lines: object[] = [];
  const { bash, work } = await createTestSandbox({ driver: 'none', log: recordingLog(lines) });
  expect(JSON.stringify(lines)).toMatch(/\\u001b\[31mSERVICE_SANDBOX=none.*without a sandbox/);
  await mkdir(join(work, 'sub'));
  const result = await bash('pwd; cat; echo "$GIVEN"; exit 4', { stdin: 'in', env: { GIVEN: 'x' }, cwd: '/work/sub' });
  expect(result).toMatchObject({ exitCode: 4, stdout: `${join(work, 'sub')}\ninx\n` });
  expect((await bash('sleep 1000 & sleep 1000', { timeoutMs: 100 })).killed).toBe('timeout');
});
