import type { Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { ProgramPipes, ProgramResult } from '../../sandbox/index.js';
import { unmark } from '../../shared/exact-json.js';
import { errorMessage } from '../../shared/refusal.js';
import { markMessage } from './mark-messages.js';
import { sdk } from './sdk.js';

/** The maximum size of one message, and of all output between two answers, in bytes. */
const MAX_MESSAGE = 16 * 1_048_576;

const MAX_UNASKED = 64 * 1_048_576;

const NEWLINE = 0x0a;

const BRACE = 0x7b;

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
    // The client delivers notifications a moment later: an answer that arrived with them must not overtake its
    // progress.
    setImmediate(() => this.#deliver(message));
  }

  /** No caller catches here, so an error of the client over a message becomes an error of this connection. */
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
  const lastOutput = stderr.slice(-STDERR_TAIL).trim();
  return lastOutput === '' ? how : `${how}; its last words: ${lastOutput}`;
}

interface LineReader {
  push(chunk: Buffer): void;
  /** A request was answered: restarts the count of received bytes. */
  answered(): void;
}

/**
 * Splits bytes into lines. Skips lines that do not begin like a JSON object, since programs print to standard output.
 * Calls `onExcess` once with the reason why it stops reading.
 */
function readLines({
  onLine,
  onExcess,
}: {
  readonly onLine: (line: string) => void;
  readonly onExcess: (why: string) => void;
}): LineReader {
  let pieces: Buffer[] = [];
  let held = 0;
  let unasked = 0;
  let isOver = false;
  const stop = (why: string) => {
    isOver = true;
    pieces = [];
    onExcess(why);
  };
  const addPiece = (piece: Buffer) => {
    pieces.push(piece);
    held += piece.length;
    if (held > MAX_MESSAGE) stop(`it sent a message of more than ${MAX_MESSAGE / 1_048_576} MiB`);
  };
  const end = () => {
    const line = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
    pieces = [];
    held = 0;
    if (firstByte(line) === BRACE) onLine(line.toString('utf8'));
  };
  return {
    answered: () => {
      unasked = 0;
    },
    push: (chunk) => {
      if (isOver) return;
      unasked += chunk.length;
      if (unasked > MAX_UNASKED) return stop(`it sent more than ${MAX_UNASKED / 1_048_576} MiB without an answer`);
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0 && !isOver; at = chunk.indexOf(NEWLINE, from)) {
        addPiece(chunk.subarray(from, at));
        if (!isOver) end();
        from = at + 1;
      }
      if (!isOver && from < chunk.length) addPiece(chunk.subarray(from));
    },
  };
}

function firstByte(line: Buffer): number | undefined {
  return line.find((byte) => byte !== 0x20 && byte !== 0x09);
}
