import { StringDecoder } from 'node:string_decoder';

export interface CapturedOutput {
  /** Bytes seen in all. */
  readonly seen: number;
  readonly truncated: boolean;
  readonly text: string;
}

/** Keeps the first and the last half of `kept` bytes of a stream, for the cause and the end of a story are there. */
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
    const last = tail.subarray(Math.max(0, tail.length - this.#half));
    const cut = this.#seen - this.#headBytes - last.length;
    const head = Buffer.concat(this.#head);
    if (cut === 0) return { seen: this.#seen, truncated: false, text: Buffer.concat([head, last]).toString('utf8') };
    const text = `${head.toString('utf8')}\n[… ${cut} bytes left out …]\n${last.toString('utf8')}`;
    return { seen: this.#seen, truncated: true, text };
  }
}

/** Text of byte chunks, with characters that lie over a border of two chunks kept whole. */
export function textOf(onText: (text: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  return (chunk) => {
    const text = decoder.write(chunk);
    if (text !== '') onText(text);
  };
}
