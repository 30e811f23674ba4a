import type { Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { ProgramPipes, ProgramResult } from '../../sandbox/index.js';
import { unmark } from '../../shared/exact-json.js';
import { errorMessage } from '../../shared/refusal.js';
import { markMessage } from './mark-messages.js';
import { type LineReader, readLines } from './read-lines.js';
import { sdk } from './sdk.js';

/** Runs the program until its end; `signal` kills it with all that it started. */
export type RunServer = (wiring: {
  readonly onPipes: (pipes: ProgramPipes) => void;
  readonly signal: AbortSignal;
}) => Promise<ProgramResult>;

/**
 * A server in the sandbox that communicates over its standard streams, a message a line. It is stopped by killing its
 * process group: a graceful shutdown takes seconds and may fail.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  /** Why it was killed, or how it exited; null while it lives, and after a regular close. */
  #why: string | null = null;
  #isOpen = true;
  #stdin: Writable | null = null;
  #ended: Promise<void> = Promise.resolve();
  readonly #kill = new AbortController();
  readonly #lines: LineReader;

  constructor(readonly run: RunServer) {
    this.#lines = readLines({ onLine: (line) => this.#receive(line), onExcess: (why) => this.#stop(why) });
  }

  get why(): string | null {
    return this.#why;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const onPipes = ({ stdin, stdout }: ProgramPipes) => {
        this.#stdin = stdin;
        stdout.on('data', (chunk: Buffer) => this.#lines.push(chunk));
        resolve();
      };
      const running = this.run({ onPipes, signal: this.#kill.signal });
      this.#ended = running.then(
        (result) => this.#end(endOf(result)),
        (error: unknown) => {
          reject(error);
          this.#end(errorMessage(error));
        },
      );
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#stdin === null || !this.#isOpen) throw new Error('the server has ended');
    // A server that does not read must not block: the call's own timeout decides.
    this.#stdin.write(unmark(sdk().serializeMessage(message)));
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#kill.abort();
    await this.#ended;
  }

  #stop(why: string): void {
    this.#why ??= why;
    this.#isOpen = false;
    this.#kill.abort();
  }

  #end(how: string): void {
    if (this.#isOpen) this.#why ??= how;
    this.#isOpen = false;
    this.onclose?.();
  }

  #receive(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = sdk().deserializeMessage(markMessage(line));
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (!('result' in message || 'error' in message)) {
      this.#deliver(message);
      return;
    }
    this.#lines.answered();
    // The client hands notifications on a moment later: an answer that came with them must not overtake its progress.
    setImmediate(() => this.#deliver(message));
  }

  /** Called where nothing catches: what the client throws over a message is a fault of this server's connection. */
  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

const STDERR_TAIL = 1_000;

function endOf({ exitCode, why, stderr }: ProgramResult): string {
  const how = why ?? (exitCode === null ? 'it was ended by a signal' : `it ended with exit status ${exitCode}`);
  const said = stderr.slice(-STDERR_TAIL).trim();
  return said === '' ? how : `${how}; its last words: ${said}`;
}
