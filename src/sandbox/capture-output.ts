import { StringDecoder } from 'node:string_decoder';

export interface CapturedOutput {
  /** The total number of bytes so far. */
  readonly seen: number;
  readonly truncated: boolean;
  readonly text: string;
}

/** Matches the marker that replaces the middle of a captured text. */
export const LEFT_OUT = /\n\[… \d+ bytes left out …\]\n/;

/**
 * Keeps the first and the last `kept / 2` bytes of a stream, where the cause and the final error usually are, without a
 * partial UTF-8 character at the cut.
 */
export class OutputCapture {
  #head: Buffer[] = [];
  #tail: Buffer[] = [];
  #headBytes = 0;
  #tailBytes = 0;
  #seen = 0;
  readonly #half: number;

  constructor(kept: number) {
    this.#half = Math.floor(kept / 2);
  }

  get seen(): number {
    return this.#seen;
  }

  push(chunk: Buffer): void {
    this.#seen += chunk.length;
    const room = Math.max(0, this.#half - this.#headBytes);
    if (room > 0) {
      this.#head.push(chunk.subarray(0, room));
      this.#headBytes += Math.min(room, chunk.length);
    }
    if (chunk.length <= room) return;
    this.#tail.push(chunk.subarray(room));
    this.#tailBytes += chunk.length - room;
    for (let first = this.#tail[0]; first && this.#tailBytes - first.length >= this.#half; first = this.#tail[0]) {
      this.#tail.shift();
      this.#tailBytes -= first.length;
    }
  }

  end(): CapturedOutput {
    const tail = Buffer.concat(this.#tail);
    const kept = tail.subarray(Math.max(0, tail.length - this.#half));
    const begun = Buffer.concat(this.#head);
    if (this.#seen === begun.length + kept.length)
      return { seen: this.#seen, truncated: false, text: Buffer.concat([begun, kept]).toString('utf8') };
    const head = begun.subarray(0, begun.length - beginningAtEnd(begun));
    const last = kept.subarray(continuationAtStart(kept));
    const cut = this.#seen - head.length - last.length;
    const text = `${head.toString('utf8')}\n[… ${cut} bytes left out …]\n${last.toString('utf8')}`;
    return { seen: this.#seen, truncated: true, text };
  }
}

const isRest = (byte: number | undefined): boolean => byte !== undefined && byte >> 6 === 0b10;

/** How many bytes at the end belong to an incomplete character. */
function beginningAtEnd(bytes: Buffer): number {
  let rest = 0;
  while (rest < 3 && isRest(bytes.at(-1 - rest))) rest += 1;
  const first = bytes.at(-1 - rest) ?? 0;
  const wanted = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  return rest < wanted ? rest + 1 : 0;
}

/** How many bytes at the start belong to a character that began earlier. */
function continuationAtStart(bytes: Buffer): number {
  let rest = 0;
  while (rest < 3 && isRest(bytes[rest])) rest += 1;
  return rest;
}

/** Decodes byte chunks as text; a character may span two chunks. */
export function textOf(onText: (text: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  return (chunk) => {
    const text = decoder.write(chunk);
    if (text !== '') onText(text);
  };
}
