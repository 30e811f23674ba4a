import type { Server, ServerResponse } from 'node:http';
import { createAdaptorServer, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import type { Deps } from '../deps.js';
import type { App } from './app.js';

export interface ApiServer {
  /** Where it listens, with the port that it got. */
  readonly url: string;
  /** Stops accepting, ends streams and idle connections at once, and gives the rest a moment to finish. Under 5 s. */
  close(): Promise<void>;
}

/** How long a request that is being answered may still take when the service stops. */
const GRACE_MS = 3_000;

export async function serveApi(deps: Pick<Deps, 'config'>, app: App): Promise<ApiServer> {
  const { host, port } = deps.config;
  // Streams end only when somebody ends them, so a stopping service must know which answers they are.
  const streams = new Set<ServerResponse>();
  const fetch = async (request: Request, bindings: HttpBindings | Http2Bindings) => {
    const response = await app.fetch(request, bindings);
    const { outgoing } = bindings as HttpBindings;
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      streams.add(outgoing);
      outgoing.once('close', () => streams.delete(outgoing));
    }
    return response;
  };
  const server = createAdaptorServer({ fetch }) as Server;
  await listen(server, host, port);
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    close: () => close(server, streams),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(sayWhy(error, host, port), { cause: error })),
    );
    server.listen(port, host, resolve);
  });
}

const REASONS: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is taken: stop what listens there, or set SERVICE_PORT to another (0 takes any free one)`,
  EACCES: (_host, port) => `this user may not listen on port ${port}: set SERVICE_PORT to one above 1023`,
  EADDRNOTAVAIL: (host) =>
    `${host} is no address of this machine: set SERVICE_HOST to one that is, or to 0.0.0.0 for all`,
  ENOTFOUND: (host) => `the host name ${host} is unknown: set SERVICE_HOST to an address of this machine`,
};

function sayWhy(error: NodeJS.ErrnoException, host: string, port: number): string {
  return REASONS[error.code ?? '']?.(host, port) ?? `cannot listen on ${host}:${port}: ${error.message}`;
}

function close(server: Server, streams: ReadonlySet<ServerResponse>): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), GRACE_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
    for (const stream of streams) stream.destroy();
  });
}
