import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface LingerLimits {
  /** How long an answered request may still send, in all and in silence. */
  readonly totalMs: number;
  readonly idleMs: number;
  readonly maxBytes: number;
}

const LIMITS: LingerLimits = { totalMs: 5_000, idleMs: 1_000, maxBytes: 64 * 1024 * 1024 };
const LOOK_EVERY_MS = 250;

/**
 * What an answered request still sends is read and thrown away for a moment: many clients read the answer only when they
 * have sent all of their body, and a connection that is closed before takes the answer with it. Then it is closed.
 */
export function lingerAfterAnswers(server: Server, limits: LingerLimits = LIMITS): void {
  server.on('request', (incoming, outgoing) => {
    outgoing.once('finish', () => {
      if (!incoming.complete) drain(incoming, limits);
    });
  });
}

/** A client that waits for permission to send its body (`Expect: 100-continue`) has it once the body is read. */
export function permitBodiesWhenRead(server: Server): void {
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { shouldKeepAlive } = outgoing;
    // A client that is refused may send its body all the same, or the next request: only an end tells the two apart.
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

/** Ours is closed first, so that the answer is read even by a client that goes on sending. */
function closeSoon(socket: Socket): void {
  socket.end();
  setTimeout(() => socket.destroy(), LOOK_EVERY_MS).unref();
}
