import type { Readable } from 'node:stream';

/**
 * The flush packet. A packet (gitprotocol-common) is its length as four hex digits, which count themselves, then the
 * content.
 */
export const FLUSH: Buffer = Buffer.from('0000');
/** The maximum content of one packet, in bytes. */
const MAX_CONTENT = 65_516;

export function pktLine(content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content as string);
  if (bytes.byteLength > MAX_CONTENT) throw new Error('the payload is too large for one packet');
  return Buffer.concat([Buffer.from((bytes.byteLength + 4).toString(16).padStart(4, '0')), bytes]);
}

/** A violation of git's protocol. The message goes to the client. */
export class WireFault extends Error {}

/** Reads packets from a stream, then the bytes after them. */
export class PktReader {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(stream: Readable) {
    this.#source = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** The next packet's content; null for a flush, undefined when the stream has ended before it. */
  async line(): Promise<Buffer | null | undefined> {
    const head = await this.bytes(4);
    if (head === null) return undefined;
    const text = head.toString('latin1');
    const length = /^[0-9a-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : -1;
    if (length === 0) return null;
    if (length < 4) throw new WireFault('the request does not follow git’s protocol');
    const content = length === 4 ? Buffer.alloc(0) : await this.bytes(length - 4);
    if (content === null) throw new WireFault('the request ends within a packet');
    return content;
  }

  /** The next `count` bytes; null at the end of the stream. */
  async bytes(count: number): Promise<Buffer | null> {
    while (this.#held.byteLength < count) {
      const next = await this.#source.next();
      if (next.done) {
        if (this.#held.byteLength === 0) return null;
        throw new WireFault('the request is cut off');
      }
      this.#held = this.#held.byteLength === 0 ? next.value : Buffer.concat([this.#held, next.value]);
    }
    const bytes = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return bytes;
  }

  /** The rest of the stream. */
  async *rest(): AsyncGenerator<Buffer> {
    if (this.#held.byteLength > 0) yield this.#held;
    for (;;) {
      const next = await this.#source.next();
      if (next.done) return;
      yield next.value;
    }
  }
}
