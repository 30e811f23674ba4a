import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { packageRoot } from '../../src/platform/db/index.js';

export interface DemoProcess {
  /** All that it has shown so far, on both of its outputs. */
  screen(): string;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
  /** What it left, or still has, in the folder for temporary files. */
  folders(): string[];
  /** Living processes of the demo's service: itself, its servers, its programs. */
  processes(): { readonly pid: number; readonly command: string }[];
}

/** Runs the demo as `npm run demo` does after the set-up, with a folder for temporary files of its own. */
export function startDemo(env: Readonly<Record<string, string>> = {}): DemoProcess {
  const temporary = mkdtempSync(join(tmpdir(), 'signalbox-demo-test-'));
  // As root, Postgres runs as another user, who passes through.
  chmodSync(temporary, 0o755);
  const child = spawn(process.execPath, [join(packageRoot, 'scripts/demo/main.mjs')], {
    cwd: packageRoot,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: temporary, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const demo = { ...watch(child), folders: () => readdirSync(temporary), processes: () => processesIn(temporary) };
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await demo.ended;
    rmSync(temporary, { recursive: true, force: true });
  });
  return demo;
}

function watch(child: ChildProcess): Pick<DemoProcess, 'screen' | 'ended' | 'kill'> {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk;
    });
  }
  return {
    screen: () => text,
    ended: new Promise((resolve) => child.once('close', resolve)),
    kill: (signal) => void child.kill(signal),
  };
}

/** The service names its folder in its environment, its servers and programs in their command lines. */
function processesIn(temporary: string): { pid: number; command: string }[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const command = read(`/proc/${pid}/cmdline`);
    const isOurs = [command, read(`/proc/${pid}/environ`)].some((text) => text.includes(`${temporary}/`));
    return isOurs ? [{ pid: Number(pid), command: command.replaceAll('\0', ' ') }] : [];
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
