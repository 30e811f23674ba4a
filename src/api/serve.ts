import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createAdaptorServer, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import type { Deps } from '../deps.js';
import { sweepAccounts } from '../people/index.js';
import { withErrorListener } from '../shared/error-listener.js';
import { startLoops } from '../shared/repeat.js';
import type { App } from './app.js';

const LIMITS: LingerLimits = { totalMs: 5_000, idleMs: 1_000, maxBytes: 64 * 1024 * 1024 };

const POLL_EVERY_MS = 250;

export interface ApiServer {
  /** The address, with the actual port. */
  readonly url: string;
  /**
   * Stops accepting, ends streams and idle connections at once, and gives running requests a moment. Takes less than 5
   * s.
   */
  close(): Promise<void>;
}

/** How long a running request may still take when the service stops. */
const GRACE_MS = 3_000;

const HOUR_MS = 3_600_000;

/** Bodies have their own deadline by rate where they are read; a git push may take longer than any fixed limit. */
const TIMEOUTS = { headersTimeout: 20_000, requestTimeout: 0, connectionsCheckingInterval: 5_000 };

export async function serveApi(
  deps: Pick<Deps, 'config' | 'db' | 'log'>,
  app: App,
  graceMs: number = GRACE_MS,
): Promise<ApiServer> {
  const { host, port } = deps.config;
  // Streams do not end by themselves, so a stopping service must end them.
  const streams = new Set<ServerResponse>();
  const fetch = async (request: Request, bindings: HttpBindings | Http2Bindings) => {
    const response = await app.fetch(request, bindings);
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      const { outgoing } = bindings as HttpBindings;
      streams.add(outgoing);
      outgoing.once('close', () => streams.delete(outgoing));
    }
    return response;
  };
  const server = withErrorListener(
    createAdaptorServer({ fetch, autoCleanupIncoming: false, serverOptions: TIMEOUTS }) as Server,
  );
  lingerAfterAnswers(server);
  permitBodiesWhenRead(server);
  await listen(server, host, port);
  const sweep = startLoops(deps.log, [{ name: 'expired rows', everyMs: HOUR_MS, work: () => sweepAccounts(deps) }]);
  return {
    url: urlOf(server, host),
    close: async () => {
      await Promise.all([close(server, streams, graceMs), sweep.close()]);
    },
  };
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(listenErrorText(error, host, port), { cause: error })),
    );
    server.listen(port, host, resolve);
  });
}

const REASONS: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use: stop the program that listens there, or set SERVICE_PORT to another (0 takes any free one)`,
  EACCES: (_host, port) => `this user may not listen on port ${port}: set SERVICE_PORT to one above 1023`,
  EADDRNOTAVAIL: (host) =>
    `${host} is not an address of this machine: set SERVICE_HOST to one of its addresses, or to 0.0.0.0 for all`,
  ENOTFOUND: (host) => `the host name ${host} is unknown: set SERVICE_HOST to an address of this machine`,
};

function listenErrorText(error: NodeJS.ErrnoException, host: string, port: number): string {
  return REASONS[error.code ?? '']?.(host, port) ?? `cannot listen on ${host}:${port}: ${error.message}`;
}

function close(server: Server, streams: ReadonlySet<ServerResponse>, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
    for (const stream of streams) stream.destroy();
  });
}

interface LingerLimits {
  /** How long a request may keep sending after its response, in total and without data. */
  readonly totalMs: number;
  readonly idleMs: number;
  readonly maxBytes: number;
}

/**
 * Reads and discards what a client still sends after its response, for a short time, then closes the connection. Many
 * clients read the response only after they have sent their whole body, and closing earlier would lose it.
 */
export function lingerAfterAnswers(server: Server, limits: LingerLimits = LIMITS): void {
  server.on('request', (incoming, outgoing) => {
    outgoing.once('finish', () => {
      if (!incoming.complete) drain(incoming, limits);
    });
  });
}

/** Sends `100 Continue` to a waiting client only when the body is read. */
function permitBodiesWhenRead(server: Server): void {
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { shouldKeepAlive } = outgoing;
    // A refused client may send its body anyway, which would look like the next request: close the connection.
    outgoing.shouldKeepAlive = false;
    incoming.once('resume', () => {
      if (outgoing.headersSent) return;
      outgoing.shouldKeepAlive = shouldKeepAlive;
      outgoing.writeContinue();
    });
    server.emit('request', incoming, outgoing);
  });
}

function drain(incoming: IncomingMessage, { totalMs, idleMs, maxBytes }: LingerLimits): void {
  const { socket } = incoming;
  const startedAt = performance.now();
  const before = socket.bytesRead;
  let seen = before;
  let lastBytesAt = startedAt;
  const timer = setInterval(() => {
    const now = performance.now();
    if (socket.bytesRead > seen) lastBytesAt = now;
    seen = socket.bytesRead;
    if (now - startedAt < totalMs && now - lastBytesAt < idleMs && seen - before < maxBytes) return;
    stop();
    closeSoon(socket);
  }, POLL_EVERY_MS);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    // The connection may serve many requests.
    socket.off('close', stop);
  };
  incoming.once('end', stop);
  incoming.once('close', stop);
  socket.once('close', stop);
  incoming.resume();
}

/** Closes our side first, so that a client that is still sending can read the response. */
function closeSoon(socket: Socket): void {
  socket.end();
  setTimeout(() => socket.destroy(), POLL_EVERY_MS).unref();
}
