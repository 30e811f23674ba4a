import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Takes what is posted to it, and remembers the `webhook-id` of each by the path that it came to. */
export interface Receiver {
  readonly url: string;
  /** In order, one for each time that it came. */
  idsAt(path: string): readonly string[];
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const seen: { readonly path: string; readonly id: string }[] = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url ?? '', id: String(request.headers['webhook-id']) });
    request.resume();
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    idsAt: (path) => seen.filter((one) => one.path === path).map(({ id }) => id),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
