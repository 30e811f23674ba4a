import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
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
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  const streams = trackStreams(server);
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

/** Streams end only when somebody ends them, so a stopping service must know which answers they are. */
function trackStreams(server: Server): ReadonlySet<ServerResponse> {
  const open = new Set<ServerResponse>();
  server.on('request', (_request: IncomingMessage, response: ServerResponse) => {
    open.add(response);
    response.once('close', () => open.delete(response));
  });
  return open;
}

function close(server: Server, open: ReadonlySet<ServerResponse>): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), GRACE_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
    for (const response of open) {
      const type = String(response.getHeader('content-type') ?? '');
      if (response.headersSent && type.startsWith('text/event-stream')) response.destroy();
      else if (!response.headersSent) response.setHeader('Connection', 'close');
    }
  });
}
