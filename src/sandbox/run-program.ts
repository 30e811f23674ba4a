import { closeSync, mkdirSync, openSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Db } from '../platform/db/contract.js';
import type { Net } from '../platform/net/contract.js';
import type { Log } from '../shared/log.js';
import { Refusal } from '../shared/refusal.js';
import { OutputCapture, textOf } from './capture-output.js';
import { checkProgram } from './check-program.js';
import type { Killed, ProgramResult, ProgramSpec } from './contract.js';
import type { Driver, DriverContext } from './drivers.js';
import { hintOf, whyKilled } from './killed.js';
import { type Identity, type Launched, launch } from './launch.js';
import { type EgressProxy, openEgressProxy } from './network/egress-proxy.js';
import { isAlive, killProcess, lookUpProcess, type ProcessId, waitUntilGone } from './process-table.js';
import { register, unregister } from './register.js';
import { watch } from './watch.js';

/** What all programs of one worker share. */
export interface Host extends DriverContext {
  readonly db: Db;
  readonly log: Log;
  readonly driver: Driver;
  readonly identity: Identity;
  readonly host: string;
  readonly worker: string;
  /** The folder for files of standard input; not visible to programs. */
  readonly tmpDir: string;
  readonly net: Net;
  /** The folder for the sockets of programs' proxies. */
  readonly netDir: string;
}

/**
 * The exit code of a shell and of bubblewrap for a program that SIGXFSZ ended: 128 plus the signal's number
 * (signal(7)).
 */
const FILE_TOO_BIG = 128 + 25;

/** A program from its spawn until it and all that it started are gone. */
export interface LiveProgram {
  readonly id: string;
  readonly owner: ProgramSpec['owner'];
  /** Kills it; the first reason is kept. */
  stop(reason: Killed): void;
  readonly done: Promise<ProgramResult>;
}

export function startProgram(host: Host, program: ProgramSpec, id: string): LiveProgram {
  const running = new Running(host, program, id);
  return { id, owner: program.owner, stop: (reason) => running.stop(reason), done: running.run() };
}

class Running {
  #killed: Killed | null = null;
  #launched: Launched | null = null;
  #init: ProcessId | null = null;
  readonly #out: OutputCapture;
  readonly #err: OutputCapture;

  constructor(
    readonly host: Host,
    readonly program: ProgramSpec,
    readonly id: string,
  ) {
    this.#out = new OutputCapture(host.limits.kept);
    this.#err = new OutputCapture(host.limits.kept);
  }

  get #filesDir(): string {
    return join(this.host.tmpDir, `${this.id}.files`);
  }

  get #netDir(): string {
    return join(this.host.netDir, this.id);
  }

  stop(reason: Killed): void {
    this.#killed ??= reason;
    const pid = this.#launched?.child.pid;
    // Kill its process group, and the first process of its pid namespace, which ends all others in it.
    if (pid !== undefined && this.#launched?.child.exitCode === null) killProcess(pid, true);
    if (this.#init && isAlive(this.#init)) killProcess(this.#init.pid, false);
  }

  async run(): Promise<ProgramResult> {
    const { program } = this;
    const onAbort = () => this.stop('stopped');
    program.signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (program.signal.aborted) this.stop('stopped');
      return await this.#runToEnd();
    } finally {
      program.signal.removeEventListener('abort', onAbort);
    }
  }

  async #runToEnd(): Promise<ProgramResult> {
    checkProgram(this.program);
    const egress = await this.#openNetwork();
    try {
      return await this.#runWith(egress);
    } finally {
      await egress?.close();
      rmSync(this.#netDir, { recursive: true, force: true });
    }
  }

  /** A driver without isolation gives a program the host's network. */
  async #openNetwork(): Promise<EgressProxy | null> {
    const { host, program } = this;
    const { network: grant } = program;
    if (!host.driver.isolates || grant === undefined || grant.hosts.length === 0) return null;
    return openEgressProxy({
      grant,
      net: host.net,
      folder: this.#netDir,
      uid: host.identity.uid,
      limits: host.limits,
    });
  }

  async #runWith(egress: EgressProxy | null): Promise<ProgramResult> {
    const begun = performance.now();
    const launched = this.#launch(egress?.socket ?? null);
    const ended = endOf(launched);
    const exitCode = await this.#supervise(launched, ended).finally(() => this.#clear(launched, ended));
    const [out, err] = [this.#out.end(), this.#err.end()];
    if (exitCode === FILE_TOO_BIG) this.#killed ??= 'file-size';
    return {
      exitCode: this.#killed === null ? exitCode : null,
      stdout: out.text,
      stderr: err.text,
      truncated: out.truncated || err.truncated,
      killed: this.#killed,
      why: this.#why(exitCode, err.text),
      durationMs: Math.round(performance.now() - begun),
      network: egress?.use() ?? null,
    };
  }

  #why(exitCode: number | null, stderr: string): string | null {
    const { limits } = this.host;
    if (this.#killed !== null) return whyKilled(this.#killed, { limits, timeoutMs: this.program.timeoutMs });
    return exitCode === 0 ? null : hintOf(stderr, limits);
  }

  #launch(proxySocket: string | null): Launched {
    const { host, program } = this;
    const spec = host.driver.isolates ? program : placeFiles(this.#filesDir, program);
    const command = host.driver.command({ ...spec, proxySocket }, host);
    const stdin = program.stdin === null ? null : openStdin(join(host.tmpDir, this.id), program.stdin);
    try {
      const hasPipes = program.onPipes !== undefined;
      const launched = launch({
        command,
        limits: host.limits,
        identity: host.identity,
        stdin: stdin ?? (hasPipes ? 'pipe' : 'ignore'),
      });
      this.#launched = launched;
      if (launched.stdin) program.onPipes?.({ stdin: launched.stdin, stdout: launched.stdout });
      else this.#collect(launched.stdout, this.#out, 'stdout');
      this.#collect(launched.stderr, this.#err, 'stderr');
      return launched;
    } catch (error) {
      // Nothing else cleans up a program that never started.
      rmSync(this.#filesDir, { recursive: true, force: true });
      throw error;
    } finally {
      if (stdin !== null) closeSync(stdin);
    }
  }

  #collect(stream: Launched['stdout'], capture: OutputCapture, name: 'stdout' | 'stderr'): void {
    const { onOutput } = this.program;
    const report = onOutput && textOf((text) => onOutput(text, name));
    stream.on('data', (chunk: Buffer) => {
      if (this.#killed === 'output') return;
      capture.push(chunk);
      report?.(chunk);
      const isOver = this.#out.seen + this.#err.seen > this.host.limits.output;
      if (isOver && this.program.onPipes === undefined) this.stop('output');
    });
  }

  /** Registers the process, lets it start, and enforces its limits until it ends. */
  async #supervise(launched: Launched, ended: Promise<number | null>): Promise<number | null> {
    const { host, program, id } = this;
    const self = launched.child.pid === undefined ? null : lookUpProcess(launched.child.pid);
    if (self === null) {
      await ended;
      throw new Refusal('unavailable', 'the program could not be started: bash is missing on the host. Install bash');
    }
    await register(host.db, { id, host: host.host, worker: host.worker, process: self, program });
    if (this.#killed !== null) this.stop(this.#killed);
    launched.open();
    const timer = program.timeoutMs === null ? null : setTimeout(() => this.stop('timeout'), program.timeoutMs);
    const init = host.driver.isolates ? await Promise.race([launched.init, ended.then(() => null)]) : null;
    this.#init = init === null ? null : lookUpProcess(init);
    if (this.#killed !== null) this.stop(this.#killed);
    const unwatch = watch({ init: this.#init, workDir: program.workDir, limits: host.limits }, (why) => this.stop(why));
    try {
      return await ended;
    } finally {
      unwatch();
      if (timer) clearTimeout(timer);
    }
  }

  /** Cleans up after the end: kills what is left of it and deletes its row. */
  async #clear(launched: Launched, ended: Promise<number | null>): Promise<void> {
    const { host, id } = this;
    const { pid } = launched.child;
    if (pid !== undefined) killProcess(pid, true);
    await ended;
    rmSync(this.#filesDir, { recursive: true, force: true });
    if (this.#init && isAlive(this.#init)) killProcess(this.#init.pid, false);
    if (this.#init && !(await waitUntilGone([this.#init], 10_000))) {
      host.log.error({ pid: this.#init.pid, id }, 'failed to kill sandbox, the reaper will retry');
      return;
    }
    await unregister(host.db, [id]).catch((error: unknown) => {
      host.log.warn({ err: error, id }, 'failed to unregister a dead sandbox, the reaper will retry');
    });
  }
}

/** The exit code once it has ended and its output is read; null when a signal ended it, or it never started. */
function endOf({ child }: Launched): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code));
  });
}

/** Without isolation, a program's own files are on the host while it runs, readable by this user only. */
function placeFiles(folder: string, program: ProgramSpec): ProgramSpec {
  const { files = [], readOnly } = program;
  if (files.length === 0) return program;
  mkdirSync(folder, { mode: 0o700 });
  const laid = files.map(({ inside, content }, index) => {
    const host = join(folder, `${index}-${basename(inside)}`);
    writeFileSync(host, content, { mode: 0o400, flag: 'wx' });
    return { host, inside };
  });
  return { ...program, readOnly: [...readOnly, ...laid] };
}

/** Standard input as a real file, which programs may open again as /dev/stdin; unlinked at once. */
function openStdin(path: string, text: string): number {
  writeFileSync(path, text, { mode: 0o644, flag: 'wx' });
  try {
    return openSync(path, 'r');
  } finally {
    unlinkSync(path);
  }
}
