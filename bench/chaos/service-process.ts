import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readEnvironment } from '../../src/platform/config/index.js';
import { distDir } from '../../src/platform/db/index.js';

const READY = /is ready at|The worker is ready/;

/** A process of the built service that is started again whenever it ends, as a supervisor would. */
export class ServiceProcess {
  private child: ChildProcess | null = null;
  private closing = false;
  private keeping: Promise<void> = Promise.resolve();
  private output = '';

  constructor(
    private readonly env: Readonly<Record<string, string>>,
    private readonly log: (text: string) => void,
    /** In a session of its own: Linux shares a busy machine's time among sessions. */
    private readonly apart = false,
  ) {}

  get pid(): number | null {
    return this.child?.exitCode === null && this.child.signalCode === null ? (this.child.pid ?? null) : null;
  }

  /** Resolves when it is ready for the first time. */
  async start(): Promise<void> {
    this.keeping = this.keep();
    while (!READY.test(this.output)) {
      if (this.closing) throw new Error('ended before it was ready');
      await wait(50);
    }
  }

  private async keep(): Promise<void> {
    while (!this.closing) {
      const { PATH = '', HOME = '' } = readEnvironment();
      const child = spawn(process.execPath, ['--enable-source-maps', join(distDir, 'main.js')], {
        env: { PATH, HOME, SERVICE_LOG_LEVEL: 'warn', ...this.env },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: this.apart,
      });
      this.child = child;
      child.stdout.on('data', (chunk) => this.log(String(chunk)));
      child.stderr.on('data', (chunk) => {
        this.output += String(chunk);
        this.log(String(chunk));
      });
      await once(child, 'exit');
      if (!this.closing) await wait(300);
    }
  }

  async close(): Promise<void> {
    this.closing = true;
    const { child } = this;
    if (child && this.pid !== null) {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 40_000);
      await once(child, 'exit');
      clearTimeout(timer);
    }
    await this.keeping;
  }

  /** For an exit that waits for nothing. */
  killNow(): void {
    this.closing = true;
    if (this.pid !== null) this.child?.kill('SIGKILL');
  }
}
