import { constants } from 'node:os';
import { CLOSE_ALL_MS, Closers, type Part } from './closers.js';
import { settlesWithin } from './deadline.js';
import { withErrorListener } from './error-listener.js';
import { killAfter } from './kill-after.js';
import type { Log } from './log.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** npm forwards the signal that the terminal has sent already: a second one this soon is the same Ctrl-C. */
const SAME_SIGNAL_MS = 2_000;
/** How long a start that is being aborted may take until its next part, in ms. */
const START_MS = 10_000;
/** How long after the last deadline a process that still lives is killed, in ms. */
const GUARD_MS = 5_000;
/** Faults beyond these say nothing new while the process ends. */
const MAX_FAULTS = 20;

/**
 * Decides when and how this process ends: gracefully at the first signal or unhandled error, immediately at a third
 * signal or at a second one after two seconds.
 */
export class ProcessLife {
  readonly #parts = new Closers();
  readonly #stopping = new AbortController();
  #log: Log | null = null;
  #starting: Promise<void> = Promise.resolve();
  #isReady = false;
  #ending: Promise<never> | null = null;
  #exitCode = 0;
  #firstSignal: number | null = null;
  #signals = 0;
  #faults = 0;

  /** `say` prints a message for the person at the terminal. */
  constructor(readonly say: (text: string) => void) {}

  /** Aborted once the process is to end, which also aborts a start that is under way. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** True once an unhandled error ends the process, rather than a signal. */
  get isFaulty(): boolean {
    return this.#faults > 0;
  }

  /** From now on errors are logged, too. */
  set log(log: Log) {
    this.#log = log;
  }

  /** Registers a part to close at the end. Throws when the process is ending already. */
  add(part: Part): void {
    this.#parts.add(part);
    this.signal.throwIfAborted();
  }

  /** Runs `start`, then the process until it ends. A failed start ends it with exit code 1 and this explanation. */
  run(start: () => Promise<void>, explain: (error: unknown) => string): void {
    // An output stream whose reader is gone must not end the process.
    for (const stream of [process.stdout, process.stderr]) withErrorListener(stream);
    process.on('uncaughtException', (error) => this.#fail(error));
    process.on('unhandledRejection', (reason) => this.#fail(reason));
    for (const signal of SIGNALS) process.on(signal, () => this.#onSignal(signal));
    this.#starting = start().then(
      () => {
        this.#isReady = true;
      },
      (error: unknown) => {
        if (this.signal.aborted) return;
        this.say(explain(error));
        this.#end(1);
      },
    );
  }

  #onSignal(signal: NodeJS.Signals): void {
    const code = 128 + constants.signals[signal];
    const now = performance.now();
    this.#signals += 1;
    this.#firstSignal ??= now;
    const isSecondStop = this.#signals > 2 || (this.#signals === 2 && now - this.#firstSignal >= SAME_SIGNAL_MS);
    if (isSecondStop) process.exit(code);
    if (this.#ending !== null) return;
    this.say(
      'Stopping; active runs continue after the next start. To stop at once, send the signal again after two seconds.',
    );
    this.#end(this.#isReady ? 0 : code);
  }

  #fail(err: unknown): void {
    this.#faults += 1;
    if (this.#faults > MAX_FAULTS) return;
    this.#log?.error({ err }, 'unhandled error, shutting down');
    const text = err instanceof Error ? (err.stack ?? err.message) : String(err);
    this.say(`The service ends because of an error that no part of it handled: ${text}`);
    this.#exitCode = 1;
    this.#end(1);
  }

  #end(exitCode: number): void {
    if (this.#ending !== null) return;
    this.#exitCode = exitCode;
    // Ends the process even if closing fails or blocks the event loop.
    setTimeout(() => process.exit(1), CLOSE_ALL_MS + START_MS).unref();
    killAfter(CLOSE_ALL_MS + START_MS + GUARD_MS);
    this.#ending = this.#close();
  }

  async #close(): Promise<never> {
    const began = performance.now();
    this.#stopping.abort();
    await settlesWithin(this.#starting, START_MS);
    const isWhole = await this.#parts.close(this.#log, CLOSE_ALL_MS - (performance.now() - began));
    process.exit(isWhole ? this.#exitCode : this.#exitCode || 1);
  }
}
