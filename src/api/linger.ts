import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface LingerLimits {
  /** How long a request may keep sending after its response, in total and without data. */
  readonly totalMs: number;
  readonly idleMs: number;
  readonly maxBytes: number;
}

const LIMITS: LingerLimits = { totalMs: 5_000, idleMs: 1_000, maxBytes: 64 * 1024 * 1024 };
const LOOK_EVERY_MS = 250;

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
export function permitBodiesWhenRead(server: Server): void {
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
  let heardAt = startedAt;
  const timer = setInterval(() => {
    const now = performance.now();
    if (socket.bytesRead > seen) heardAt = now;
    seen = socket.bytesRead;
    if (now - startedAt < totalMs && now - heardAt < idleMs && seen - before < maxBytes) return;
    stop();
    closeSoon(socket);
  }, LOOK_EVERY_MS);
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
  setTimeout(() => socket.destroy(), LOOK_EVERY_MS).unref();
}
