import { chmod, chown, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createNet, type Net } from '../../src/platform/net/index.js';
import {
  createSandbox,
  type Limits,
  type ProgramResult,
  type ProgramSpec,
  removeFolder,
  type Sandbox,
} from '../../src/sandbox/index.js';
import { newId } from '../../src/shared/ids.js';
import type { Log } from '../../src/shared/log.js';
import { silentLog } from './silent-log.js';
import { testDb } from './test-db.js';

export interface TestSandbox {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  readonly runId: string;
  /** The host folder of the lane `main`, which programs see as /work. */
  readonly work: string;
  /** Runs a command with bash in the lane. */
  bash(command: string, change?: Partial<ProgramSpec>): Promise<ProgramResult>;
}

export interface TestSandboxOptions {
  readonly driver?: 'auto' | 'bubblewrap' | 'none';
  readonly limits?: Partial<Limits>;
  readonly log?: Log;
  /** Default: one to which no private host is open. */
  readonly net?: Net;
  readonly parent?: string;
}

/** A real sandbox on the real register, with a data folder and a run of its own; both end with the test. */
export async function createTestSandbox(options: TestSandboxOptions = {}): Promise<TestSandbox> {
  const dataDir = await mkdtemp(join(options.parent ?? tmpdir(), 'signalbox-sandbox-'));
  const { driver = 'bubblewrap', limits = {}, log = silentLog } = options;
  const sandbox = await createSandbox({
    config: { dataDir, sandbox: driver },
    db: testDb(),
    log,
    net: options.net ?? createNet({ config: { allowHosts: [], version: '1' } }),
    workerId: newId(),
    limits,
  });
  onTestFinished(async () => {
    await sandbox.close();
    await removeFolder(dataDir);
  });
  const runId = newId();
  const work = await makeWork(sandbox, dataDir, runId);
  const bash: TestSandbox['bash'] = (command, change = {}) =>
    sandbox.run({
      argv: ['bash', '-c', command],
      env: {},
      stdin: null,
      workDir: work,
      readOnly: [],
      timeoutMs: 20_000,
      owner: { runId, lane: 'main' },
      signal: new AbortController().signal,
      ...change,
    });
  return { sandbox, dataDir, runId, work, bash };
}

async function makeWork(sandbox: Sandbox, dataDir: string, runId: string): Promise<string> {
  const root = join(dataDir, 'scratch', runId, 'main');
  const work = join(root, 'work');
  await mkdir(work, { recursive: true });
  for (const folder of [join(root, '..'), root, work]) await chmod(folder, 0o711);
  if (sandbox.uid !== undefined) await chown(work, sandbox.uid, sandbox.uid);
  return work;
}

/** The rows of the register that belong to a run. */
export function registered(runId: string): Promise<{ readonly id: string; readonly pid: number }[]> {
  return testDb().query('SELECT id, pid FROM sandbox_process WHERE run_id = $1', [runId]);
}
