import { PassThrough, type Readable } from 'node:stream';
import { FLUSH, pktLine, type RefCommand } from '../../git/index.js';
import { withErrorListener } from '../../shared/error-listener.js';

const MAX_BAND = 65_515;

const KEEP_ALIVE_MS = 5_000;

/** The outcome of one ref of a push. */
export type Outcome =
  | {
      readonly kind: 'ok';
      /** The ref that moved in its place, reported to clients with `report-status-v2`. */
      readonly instead?: { readonly ref: string; readonly old: string | null };
      readonly forced?: boolean;
    }
  | { readonly kind: 'no'; readonly reason: string };

/** The report of a push: `unpack` is null when the pack was accepted, else its fault. */
export function writeReport(
  commands: readonly (readonly [RefCommand, Outcome])[],
  { unpack, v2 }: { readonly unpack: string | null; readonly v2: boolean },
): Buffer {
  const lines = [pktLine(`unpack ${unpack === null ? 'ok' : oneLine(unpack)}\n`)];
  for (const [command, outcome] of commands) {
    if (outcome.kind === 'no') lines.push(pktLine(`ng ${command.ref} ${oneLine(outcome.reason)}\n`));
    else lines.push(pktLine(`ok ${command.ref}\n`), ...(v2 ? optionsOf(command, outcome) : []));
  }
  return Buffer.concat([...lines, FLUSH]);
}

const NONE = '0'.repeat(40);

function optionsOf(command: RefCommand, { instead, forced }: Extract<Outcome, { kind: 'ok' }>): Buffer[] {
  const lines: string[] = [];
  if (instead) lines.push(`refname ${instead.ref}`, `old-oid ${instead.old ?? NONE}`, `new-oid ${command.new ?? NONE}`);
  if (forced) lines.push('forced-update');
  return lines.map((line) => pktLine(`option ${line}\n`));
}

function oneLine(text: string): string {
  return plain(text.replace(/\s+/g, ' ')).slice(0, 500);
}

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
function plain(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}
