import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface PausableProxy {
  readonly port: number;
  /** From now on nothing passes, in either direction, while every connection stays up. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

/** Stands before a server and can make it hang, as a cut cable does: connections live, and nothing comes back. */
export async function startPausableProxy(target: { host: string; port: number }): Promise<PausableProxy> {
  const sockets = new Set<Socket>();
  let paused = false;
  const server = createServer((client) => {
    const upstream = connect(target.port, target.host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
      if (paused) socket.pause();
    }
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => client.write(chunk));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    if (paused) for (const socket of [client, upstream]) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const each = (act: (socket: Socket) => void) => {
    for (const socket of sockets) act(socket);
  };
  return {
    port: (server.address() as AddressInfo).port,
    pause() {
      paused = true;
      each((socket) => socket.pause());
    },
    resume() {
      paused = false;
      each((socket) => socket.resume());
    },
    close() {
      each((socket) => socket.destroy());
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
