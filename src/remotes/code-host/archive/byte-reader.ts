import { ArchiveFault } from './archive-fault.js';

/** Reads exact numbers of bytes from a stream of chunks, up to a total limit. */
export class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #maxBytes: number;
  #held: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(pieces: AsyncIterable<Uint8Array>, maxBytes: number) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#maxBytes = maxBytes;
  }

  /** Reads exactly this number of bytes; null at the end of the stream. Throws when the stream ends in between. */
  async readExactly(count: number): Promise<Buffer | null> {
    const taken: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      if (this.#held.length === 0 && !(await this.#more())) {
        if (missing === count) return null;
        throw endsEarly();
      }
      const part = this.#held.subarray(0, missing);
      this.#held = this.#held.subarray(part.length);
      taken.push(part);
      missing -= part.length;
    }
    return taken.length === 1 && taken[0] ? taken[0] : Buffer.concat(taken);
  }

  /** Skips this number of bytes. */
  async skipBytes(count: number): Promise<void> {
    let missing = count;
    while (missing > 0) {
      if (this.#held.length === 0 && !(await this.#more())) throw endsEarly();
      const part = Math.min(missing, this.#held.length);
      this.#held = this.#held.subarray(part);
      missing -= part;
    }
  }

  /** Closes the stream at any position. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#pieces.next();
    if (done) return false;
    this.#held = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    this.#bytes += value.byteLength;
    if (this.#bytes > this.#maxBytes)
      throw new ArchiveFault(`the archive holds more than ${Math.round(this.#maxBytes / 1_048_576)} MiB`);
    return true;
  }
}

export function endsEarly(): ArchiveFault {
  return new ArchiveFault('the archive ends early');
}
