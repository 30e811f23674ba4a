import { open } from 'node:fs/promises';
import { errorMessage } from '../../shared/refusal.js';
import { PortTaken, StartError } from './start-error.js';

export interface FailedStart {
  readonly name: string;
  readonly logFile: string;
  /** Where this start's lines begin in the log, in bytes. */
  readonly logStart: number;
  readonly port: number;
  readonly folder: string;
}

const PORT_TAKEN = /could not bind|address already in use|can't set frontend port/i;

type Sentence = (failed: FailedStart) => string;

/** What servers log when they cannot start, and what a person can do about it. */
const CAUSES: readonly (readonly [pattern: RegExp, sentence: Sentence])[] = [
  [
    /No space left on device|disk is full|database or disk is full/i,
    ({ folder }) =>
      `The disk that holds ${folder} is full: free some space, or set SERVICE_DATA_DIR to a folder on another disk.`,
  ],
  [
    /could not bind|address already in use/i,
    ({ name, port }) => `${name} could not use port ${port} of 127.0.0.1 because another program took it: start again.`,
  ],
  [
    /Permission denied|readonly database|read-only/i,
    ({ name, folder }) =>
      `${name} may not write in ${folder}: give this user the right to, or set SERVICE_DATA_DIR to another folder.`,
  ],
  [
    /lock file "postmaster\.pid" already exists/,
    ({ folder }) => `Another Postgres still uses ${folder}: end it, then start again.`,
  ],
  [
    /could not locate a valid checkpoint|invalid data in|could not open (file|directory) "(global|base|pg_)|not a database cluster|incorrect checksum|not a database|malformed|corrupt|invalid checkpoint|required WAL directory|database subdirectory|startup process failure|PANIC/i,
    ({ name, folder, logFile }) =>
      `The data of ${name} in ${folder} is damaged (${logFile} says how): restore the folder from a backup, or move it away to begin with an empty one.`,
  ],
];

/** Explains a failed start in one sentence: by the known cause in its log lines, else with the last line. */
export async function explainStart(failed: FailedStart, error: unknown): Promise<StartError> {
  const text = await readFrom(failed.logFile, failed.logStart);
  if (PORT_TAKEN.test(text)) {
    const { name, port } = failed;
    return new PortTaken(`${name} cannot use port ${port} of 127.0.0.1, which another program has: end that one.`);
  }
  const cause = CAUSES.find(([pattern]) => pattern.test(text));
  if (cause) return new StartError(cause[1](failed), { cause: error });
  const last = text.trim().split('\n').at(-1) || errorMessage(error);
  return new StartError(`${failed.name} did not start; ${failed.logFile} says why. Its last line: ${last}`, {
    cause: error,
  });
}

async function readFrom(file: string, start: number): Promise<string> {
  const handle = await open(file, 'r').catch(() => null);
  if (!handle) return '';
  try {
    const { size } = await handle.stat();
    const from = start <= size ? start : 0;
    const buffer = Buffer.alloc(Math.min(size - from, 256 * 1_024));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
