import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { chmod, chown, mkdtemp, open, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withErrorListener } from '../../shared/error-listener.js';
import type { ShapeValues } from '../model.js';
import { readSshKey } from '../ssh-key.js';

/** The messages of an ssh agent (RFC 9987) that sign: all others are refused. */
const REQUEST = { identities: 11, sign: 13 } as const;

const ANSWER = { failure: 5, identities: 12, signature: 14 } as const;

/** Signatures are made over a session's or a commit's digest: a longer request is not legitimate. */
const MAX_MESSAGE = 256 * 1024;

class WireFault extends Error {
  override readonly name = 'WireFault';
}

/** Cuts a stream into messages; throws WireFault for one that is too long. */
class MessageReader {
  #held = Buffer.alloc(0);

  *push(chunk: Buffer): Generator<Buffer> {
    this.#held = Buffer.concat([this.#held, chunk]);
    while (this.#held.length >= 4) {
      const length = this.#held.readUInt32BE(0);
      if (length === 0 || length > MAX_MESSAGE) throw new WireFault('a message has an invalid length');
      if (this.#held.length < 4 + length) return;
      const message = this.#held.subarray(4, 4 + length);
      this.#held = this.#held.subarray(4 + length);
      yield message;
    }
  }
}

const failure = (): Buffer => messageOf(ANSWER.failure);

export interface RunningAgent {
  /** The socket on this host, to be shown to programs. */
  readonly socket: string;
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 16;

/**
 * An ssh agent in this process: programs with access to its socket can request signatures but never see a key. It
 * neither adds nor exports keys. `uid` is the user that programs run as, when it is another one.
 */
export async function startSshAgent(keys: readonly AgentKey[], folder: string, uid?: number): Promise<RunningAgent> {
  const root = await mkdtemp(join(folder, 'agent-'));
  const server = withErrorListener(createServer((socket) => serve(keys, socket)));
  server.maxConnections = MAX_CONNECTIONS;
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const close = async () => {
    for (const socket of open) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(root, { recursive: true, force: true });
  };
  try {
    await listen(server, root);
    const socket = join(root, 'socket');
    // The programs' user may traverse the folders to it, but not list them.
    await chmod(root, 0o711);
    await chmod(socket, 0o600);
    if (uid !== undefined) await chown(socket, uid, uid);
    return { socket, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * A socket address holds at most 108 bytes, so on Linux the path goes through a handle of the folder, which is short at
 * any depth.
 */
async function listen(server: Server, root: string): Promise<void> {
  const handle = process.platform === 'linux' ? await open(root, 'r') : null;
  try {
    const path = handle === null ? join(root, 'socket') : `/proc/self/fd/${handle.fd}/socket`;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => resolve());
    });
  } finally {
    await handle?.close();
  }
}

/** Handles one request at a time, so that a program that floods the agent keeps only one thread busy. */
function serve(keys: readonly AgentKey[], socket: Socket): void {
  const reader = new MessageReader();
  let last: Promise<void> = Promise.resolve();
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    socket.pause();
    last = last
      .then(async () => {
        for (const message of reader.push(chunk)) socket.write(await answer(keys, message));
        socket.resume();
      })
      .catch(() => void socket.destroy());
  });
}

async function answer(keys: readonly AgentKey[], message: Buffer): Promise<Buffer> {
  if (message[0] === REQUEST.identities) return identitiesAnswer(keys);
  if (message[0] !== REQUEST.sign) return failure();
  const { blob, data, flags } = readSignRequest(message);
  const made = await keys.find((key) => key.blob.equals(blob))?.sign(data, flags);
  return made ? signatureAnswer(made.algorithm, made.signature) : failure();
}

const signAsync = promisify(sign);

/**
 * The RSA signature algorithms that a request may ask for by a flag (draft-miller-ssh-agent, 3.6.1). Without a flag it
 * asks for SHA-1, which is refused.
 */
const RSA = [
  [4, 'rsa-sha2-512', 'sha512'],
  [2, 'rsa-sha2-256', 'sha256'],
] as const;

const CURVE_HASHES: Readonly<Record<string, string>> = {
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
};

interface SignRequest {
  readonly blob: Buffer;
  readonly data: Buffer;
  readonly flags: number;
}

function readSignRequest(message: Buffer): SignRequest {
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

function identitiesAnswer(keys: readonly { readonly blob: Buffer; readonly comment: string }[]): Buffer {
  const entries = keys.flatMap(({ blob, comment }) => [sshString(blob), sshString(Buffer.from(comment, 'utf8'))]);
  return messageOf(ANSWER.identities, uint32(keys.length), ...entries);
}

function signatureAnswer(algorithm: string, signature: Buffer): Buffer {
  return messageOf(
    ANSWER.signature,
    sshString(Buffer.concat([sshString(Buffer.from(algorithm)), sshString(signature)])),
  );
}

/** A number as ssh writes it: big-endian, without leading zeros, with one where the first bit is set (RFC 4251, 5). */
function mpint(bytes: Buffer): Buffer {
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

/** A key that can sign but cannot be read. */
export interface AgentKey {
  /** The public key as ssh writes it. */
  readonly blob: Buffer;
  readonly comment: string;
  /** Null when the request asks for something that this key does not support. */
  sign(data: Buffer, flags: number): Promise<{ readonly algorithm: string; readonly signature: Buffer } | null>;
}

/**
 * Throws an error with a sentence when the key cannot be read, which is unexpected: it was readable when it was stored.
 */
export async function agentKey(name: string, value: ShapeValues['ssh']): Promise<AgentKey> {
  const parsed = await readSshKey(value);
  if (typeof parsed === 'string') throw new Error(`the secret ${name}: ${parsed}`);
  const key = createPrivateKey(parsed.getPrivatePEM());
  return {
    blob: parsed.getPublicSSH(),
    comment: name,
    sign: (data, flags) => signWith(parsed.type, key, { data, flags }),
  };
}

async function signWith(type: string, key: KeyObject, { data, flags }: { data: Buffer; flags: number }) {
  if (type === 'ssh-ed25519') return { algorithm: type, signature: await signAsync(null, data, key) };
  const curve = CURVE_HASHES[type];
  if (curve !== undefined) {
    const pair = await signAsync(curve, data, { key, dsaEncoding: 'ieee-p1363' });
    const half = pair.length / 2;
    return { algorithm: type, signature: Buffer.concat([mpint(pair.subarray(0, half)), mpint(pair.subarray(half))]) };
  }
  const asked = RSA.find(([flag]) => (flags & flag) !== 0);
  if (type !== 'ssh-rsa' || !asked) return null;
  return { algorithm: asked[1], signature: await signAsync(asked[2], data, key) };
}
