import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface LocalServer {
  readonly url: string;
  readonly port: number;
  /** What came in, in order. */
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }[];
}

export type Respond = (request: LocalServer['requests'][number], response: ServerResponse) => void | Promise<void>;

/** An HTTP server on 127.0.0.1 that ends with the test. */
export async function startLocalServer(respond: Respond): Promise<LocalServer> {
  const requests: LocalServer['requests'][number][] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = '', url: path = '', headers } = incoming;
    const request = { method, path, headers, body: Buffer.concat(chunks).toString('utf8') };
    requests.push(request);
    await respond(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requests };
}
