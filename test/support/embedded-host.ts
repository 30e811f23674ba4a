import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { readEnvironment } from '../../src/platform/config/index.js';
import { copiesOf } from './copied-folder.js';

export interface HostProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly databaseUrl: string;
  readonly temporal: { readonly address: string; readonly namespace: string };
  /** All that it has written to standard error so far. */
  stderr(): string;
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Builds the process once a test file; it must lie where `node_modules` is found. */
export async function createHost() {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const outfile = join(root, 'dist', `.embedded-test-${process.pid}.mjs`);
  await build({
    entryPoints: [join(root, 'test/support/embedded-process.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  });
  const started: ChildProcess[] = [];
  const folders: string[] = [];
  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'signalbox-embedded-'));
    folders.push(path);
    return path;
  }
  async function start(
    dataDir: string,
    options: { env?: Record<string, string>; uid?: number } = {},
  ): Promise<HostProcess> {
    const child = spawn(process.execPath, [outfile], {
      env: {
        ...readEnvironment(),
        DATABASE_URL: '',
        TEMPORAL_ADDRESS: '',
        SERVICE_DATA_DIR: dataDir,
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    });
    started.push(child);
    return connectTo(child);
  }
  const copy = copiesOf(async () => {
    const path = await folder();
    await (await start(path)).end('SIGTERM');
    return path;
  });
  return {
    folder,
    /** One that was used once and ended well. */
    usedFolder: async () => copy(await folder()),
    /** Resolves when its servers answer; rejects with what it wrote when it exits instead. */
    start,
    async close(): Promise<void> {
      for (const child of started) {
        if (child.exitCode === null && child.signalCode === null) {
          child.kill('SIGTERM');
          await once(child, 'exit');
        }
      }
      for (const path of folders) await removeWithServers(path);
      await rm(outfile, { force: true });
    },
  };
}

async function connectTo(child: ChildProcess): Promise<HostProcess> {
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const closed = once(child, 'close');
  if (!child.stdout) throw new Error('no pipe');
  const line = once(createInterface(child.stdout), 'line').then(([text]) => String(text));
  const first = await Promise.race([line, closed.then(() => null)]);
  if (first === null) throw new Error(said.trim());
  return {
    child,
    pid: child.pid ?? 0,
    ...(JSON.parse(first) as Pick<HostProcess, 'databaseUrl' | 'temporal'>),
    stderr: () => said,
    end(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

/** Kills what still runs on the folder, and removes it once that has ended. */
export async function removeWithServers(folder: string): Promise<void> {
  for (let left = await serversOf(folder); left.length > 0; left = await serversOf(folder)) {
    for (const pid of left) endNow(pid);
    await sleep(20);
  }
  // A Postgres whose first process was killed ends its others by itself, and they still write.
  await rm(folder, { recursive: true, force: true, maxRetries: 20 });
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** The processes whose command line names the folder: what a service that ended must not leave. Linux only. */
export async function serversOf(folder: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(folder) && Number(pid) !== process.pid) found.push(Number(pid));
  }
  return found;
}
