/** One event of a stream of server-sent events. */
export interface ServerEvent {
  /** Empty when the stream names none. */
  readonly name: string;
  readonly data: readonly string[];
}

const LINE_END = /\r\n|\n|\r/;

/**
 * Splits a stream of server-sent events (HTML standard, 9.2.6) into whole events, however it is chunked. Leaves out
 * events without data. Unfinished text is stored as pieces, so a long line costs no more than its length.
 */
export function createSplitter() {
  const decoder = new TextDecoder();
  let line: string[] = [];
  let name = '';
  let data: string[] = [];
  let size = 0;
  let endsWithCr = false;

  const finish = (): ServerEvent[] => {
    const event = { name, data };
    name = '';
    data = [];
    size = 0;
    return event.data.length === 0 ? [] : [event];
  };
  const splitLine = (text: string): ServerEvent[] => {
    if (text === '') return finish();
    const colon = text.indexOf(':');
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') name = value;
    if (field === 'data') data.push(value);
    return [];
  };
  const split = (given: string): ServerEvent[] => {
    if (given === '') return [];
    // A CR that ended the last piece and an LF that begins this one are one line end.
    const text = endsWithCr && given.startsWith('\n') ? given.slice(1) : given;
    endsWithCr = given.endsWith('\r');
    const [first = '', ...rest] = text.split(LINE_END);
    line.push(first);
    const events: ServerEvent[] = [];
    for (const next of rest) {
      events.push(...splitLine(line.join('')));
      line = [next];
    }
    return events;
  };
  return {
    push(bytes: Uint8Array): ServerEvent[] {
      size += bytes.byteLength;
      return split(decoder.decode(bytes, { stream: true }));
    },
    /** Some servers leave out the blank line after their last event. */
    end: (): ServerEvent[] => [...split(decoder.decode()), ...splitLine(line.join('')), ...finish()],
    /** Approximate bytes of the unfinished event. */
    size: (): number => size,
  };
}
