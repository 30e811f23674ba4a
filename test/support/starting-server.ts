import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

interface StartingServer {
  /** The URL of the database, through this server. */
  readonly url: string;
  /** The number of connections that it refused. */
  refused(): number;
  close(): Promise<void>;
}

/** Stands before Postgres and refuses the first connections as a server does that is not ready, or knows no such user. */
export async function startRefusing(url: string, refusal: { code: string; times: number }): Promise<StartingServer> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let refused = 0;
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => undefined);
    client.on('close', () => sockets.delete(client));
    if (refused < refusal.times) {
      refused += 1;
      client.once('data', () => client.end(errorResponse(refusal.code)));
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = new URL(url);
  own.hostname = '127.0.0.1';
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    refused: () => refused,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** https://www.postgresql.org/docs/18/protocol-message-formats.html, ErrorResponse */
function errorResponse(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mrefused by the test\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
