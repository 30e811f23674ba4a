/** The messages of an ssh agent (RFC 9987) that sign: all others are refused. */
export const REQUEST = { identities: 11, sign: 13 } as const;
const ANSWER = { failure: 5, identities: 12, signature: 14 } as const;
/** Signatures are made over a session's or a commit's digest: a longer request is not legitimate. */
const MAX_MESSAGE = 256 * 1024;

export class WireFault extends Error {
  override readonly name = 'WireFault';
}

/** Cuts a stream into messages; throws WireFault for one that is too long. */
export class MessageReader {
  #held = Buffer.alloc(0);

  *push(chunk: Buffer): Generator<Buffer> {
    this.#held = Buffer.concat([this.#held, chunk]);
    while (this.#held.length >= 4) {
      const length = this.#held.readUInt32BE(0);
      if (length === 0 || length > MAX_MESSAGE) throw new WireFault('a message has a length that no agent takes');
      if (this.#held.length < 4 + length) return;
      const message = this.#held.subarray(4, 4 + length);
      this.#held = this.#held.subarray(4 + length);
      yield message;
    }
  }
}

export interface SignRequest {
  readonly blob: Buffer;
  readonly data: Buffer;
  readonly flags: number;
}

export function readSignRequest(message: Buffer): SignRequest {
  const blob = stringAt(message, 1);
  const data = stringAt(message, 5 + blob.length);
  const at = 9 + blob.length + data.length;
  if (message.length < at + 4) throw new WireFault('a message ends too early');
  return { blob, data, flags: message.readUInt32BE(at) };
}

function stringAt(message: Buffer, at: number): Buffer {
  const length = message.length < at + 4 ? Number.POSITIVE_INFINITY : message.readUInt32BE(at);
  if (at + 4 + length > message.length) throw new WireFault('a message ends too early');
  return message.subarray(at + 4, at + 4 + length);
}

export const failure = (): Buffer => messageOf(ANSWER.failure);

export function identitiesAnswer(keys: readonly { readonly blob: Buffer; readonly comment: string }[]): Buffer {
  const entries = keys.flatMap(({ blob, comment }) => [sshString(blob), sshString(Buffer.from(comment, 'utf8'))]);
  return messageOf(ANSWER.identities, uint32(keys.length), ...entries);
}

export function signatureAnswer(algorithm: string, signature: Buffer): Buffer {
  return messageOf(
    ANSWER.signature,
    sshString(Buffer.concat([sshString(Buffer.from(algorithm)), sshString(signature)])),
  );
}

/** A number as ssh writes it: big-endian, without leading zeros, with one where the first bit is set (RFC 4251, 5). */
export function mpint(bytes: Buffer): Buffer {
  const from = bytes.findIndex((byte) => byte !== 0);
  const significant = from < 0 ? Buffer.alloc(0) : bytes.subarray(from);
  return sshString((significant[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), significant]) : significant);
}

function messageOf(type: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from([type]), ...parts]);
  return Buffer.concat([uint32(body.length), body]);
}

function sshString(bytes: Buffer): Buffer {
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
