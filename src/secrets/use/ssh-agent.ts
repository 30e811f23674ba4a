import { chmod, chown, mkdtemp, open, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { withErrorListener } from '../../shared/error-listener.js';
import type { AgentKey } from './agent-key.js';
import { failure, identitiesAnswer, MessageReader, REQUEST, readSignRequest, signatureAnswer } from './agent-wire.js';

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

/** A socket's address holds 108 bytes at most: on Linux it is named by its folder's handle, however deep that lies. */
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

/** One request after the other: a program that asks without end keeps one thread busy, and no more. */
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
