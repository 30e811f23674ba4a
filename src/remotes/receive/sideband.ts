import { PassThrough, type Readable } from 'node:stream';
import { FLUSH, pktLine } from '../../git/index.js';
import { withErrorListener } from '../../shared/error-listener.js';

const MAX_BAND = 65_515;
const KEEP_ALIVE_MS = 5_000;

/** The answer to a push, streamed during the work (gitprotocol-pack, "Reporting Status" and the sideband). */
export interface Answer {
  readonly stream: Readable;
  /** Lines that git shows to the person, each behind `remote: `. */
  say(...lines: readonly string[]): void;
  /** Sends the report and ends the stream. */
  end(report: Buffer | null): void;
}

/** Without `sideband` the client cannot separate messages from the report, so it gets no messages. */
export function createAnswer(sideband: boolean): Answer {
  const stream = withErrorListener(new PassThrough());
  // Keeps the connection alive during the checks of a large tree.
  const pulse = setInterval(() => sideband && stream.write(pktLine(Buffer.from([2]))), KEEP_ALIVE_MS);
  stream.once('close', () => clearInterval(pulse));
  const send = (band: number, bytes: Buffer): void => {
    for (let at = 0; at < bytes.byteLength; at += MAX_BAND)
      stream.write(pktLine(Buffer.concat([Buffer.from([band]), bytes.subarray(at, at + MAX_BAND)])));
  };
  return {
    stream,
    say: (...lines) => {
      if (sideband) send(2, Buffer.from(lines.map((line) => `${plain(line)}\n`).join('')));
    },
    end: (report) => {
      clearInterval(pulse);
      if (report && sideband) send(1, report);
      else if (report) stream.write(report);
      stream.end(sideband ? FLUSH : undefined);
    },
  };
}

/** Escapes control characters, so that a path or a message cannot control the terminal. */
export function plain(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}
