/** What of a line tells its kind. */
const PEEK = 64;
/** Comments (`: keep-alive`), blank lines, and pings: `event: ping` as Anthropic sends it, and its data. */
const SIGN_OF_LIFE = /^(:|event:\s*ping\b|data:\s*$|data:\s*\{\s*"type"\s*:\s*"ping"|\s*$)/;

/**
 * Reads a stream of server-sent events piece by piece (HTML standard, 9.2.6) and answers whether a piece ended a line
 * that is part of an answer. Bytes are read one to one: what tells a line's kind is ASCII.
 */
export function contentFinder(): (chunk: Uint8Array) => boolean {
  let rest = '';
  return (chunk) => {
    const lines = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      .toString('latin1')
      .split(/[\r\n]/);
    const last = lines.pop() ?? '';
    if (lines.length > 0) {
      lines[0] = rest + lines[0];
      rest = '';
    }
    rest = (rest + last).slice(0, PEEK);
    // A line that has not ended is content as soon as it is long enough to be no sign of life.
    return lines.some(isContent) || (rest.length === PEEK && isContent(rest));
  };
}

function isContent(line: string): boolean {
  return !SIGN_OF_LIFE.test(line);
}
