/** One message, and all that a server may say without answering anything. */
export const MAX_MESSAGE = 16 * 1_048_576;
export const MAX_UNASKED = 64 * 1_048_576;

export interface LineReader {
  push(chunk: Buffer): void;
  /** A request was answered: restarts the count of received bytes. */
  answered(): void;
}

/**
 * Splits bytes into lines. Skips lines that do not begin like a JSON object, since programs print to standard output.
 * Calls `onExcess` once with the reason why it stops reading.
 */
export function readLines({
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

const NEWLINE = 0x0a;
const BRACE = 0x7b;

function firstByte(line: Buffer): number | undefined {
  return line.find((byte) => byte !== 0x20 && byte !== 0x09);
}
