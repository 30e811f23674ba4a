import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, statSync, truncateSync } from 'node:fs';
import { sleep } from '../../shared/deadline.js';
import { spawnProcess } from '../../shared/spawn-process.js';
import { childrenOf, identify, isAlive, type ProcessIdentity } from './process-identity.js';
import { explainFileError } from './start-error.js';

export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** A server process that this service started. `exited` resolves with a text that says how it ended. */
export interface Child {
  readonly identity: ProcessIdentity;
  readonly exited: Promise<string>;
  hasExited(): boolean;
}

const LOG_LIMIT_BYTES = 32 * 1_024 * 1_024;

/**
 * Starts a server in its own process group. A Ctrl-C at the terminal signals the whole foreground group, and Postgres
 * must outlive the worker that still writes to it.
 */
export function spawnChild(spec: ChildSpec): Child {
  const log = openLog(spec.logFile);
  const child = withPrivateFiles(() =>
    spawnProcess(spec.command, spec.args, {
      cwd: spec.cwd,
      env: { ...spec.env },
      stdio: ['ignore', log, log],
      detached: true,
      ...(spec.uid === undefined ? {} : { uid: spec.uid }),
      ...(spec.gid === undefined ? {} : { gid: spec.gid }),
    }),
  );
  closeSync(log);
  endWithProcess(child);
  let done = false;
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `exit code ${code}`));
  }).then((text) => {
    done = true;
    return text;
  });
  return {
    identity: identify(child.pid ?? -1),
    exited,
    hasExited: () => done,
  };
}

/** A child inherits the umask at its start, so only its own user can read what the server writes. */
function withPrivateFiles<T>(make: () => T): T {
  const before = process.umask(0o077);
  try {
    return make();
  } finally {
    process.umask(before);
  }
}

/** Stops a child when this process exits. An exit handler cannot wait, but it can still send a signal. */
export function endWithProcess(child: ChildProcess): void {
  const ask = () => void child.kill('SIGINT');
  process.once('exit', ask);
  child.once('exit', () => process.off('exit', ask));
}

/**
 * Sends `signals` one after another, `patienceMs` apart, until the process is gone. Returns false when it did not
 * exist.
 */
export async function endProcess(
  identity: ProcessIdentity,
  signals: readonly NodeJS.Signals[],
  patienceMs: number,
): Promise<boolean> {
  if (!isAlive(identity)) return false;
  for (const signal of signals) {
    if (!isAlive(identity)) break;
    // Kill its children with it: if they are paused (SIGSTOP), they react to no other signal.
    const pids = signal === 'SIGKILL' ? [identity.pid, ...childrenOf(identity.pid)] : [identity.pid];
    for (const pid of pids) send(pid, signal);
    const until = Date.now() + patienceMs;
    while (isAlive(identity) && Date.now() < until) await sleep(20);
  }
  return true;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It exited between the check and the signal.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function openLog(file: string): number {
  try {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_LIMIT_BYTES) truncateSync(file);
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw explainFileError(error, file);
  }
}
