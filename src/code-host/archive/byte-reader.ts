import { ArchiveFault } from './archive-fault.js';

/** Bytes by the number that is wanted, out of pieces as they come. Those that came are counted. */
export class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #maxBytes: number;
  #held: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(pieces: AsyncIterable<Uint8Array>, maxBytes: number) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#maxBytes = maxBytes;
  }

  /** Exactly so many bytes; null at the end of the stream, where none is left. Refuses a stream that ends in between. */
  async take(count: number): Promise<Buffer | null> {
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

  /** Passes over so many bytes without keeping them. */
  async pass(count: number): Promise<void> {
    let missing = count;
    while (missing > 0) {
      if (this.#held.length === 0 && !(await this.#more())) throw endsEarly();
      const part = Math.min(missing, this.#held.length);
      this.#held = this.#held.subarray(part);
      missing -= part;
    }
  }

  /** Lets go of the stream, wherever it stands. */
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
