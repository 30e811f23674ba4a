import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';

/** An unreachable Postgres must cause an error within 2 s, so connecting may take no longer than this. */
export const CONNECT_TIMEOUT_MS = 1_500;

/**
 * How often the connect timeout is checked. Each check follows a turn of the event loop, so even a busy process gets
 * this many turns for a connect.
 */
const POLLS = 6;

/** When the database last answered this pool, on any connection. */
export interface Pulse {
  at: number;
}

/** How long the database may be silent before it counts as down. */
export const ALIVE_MS = 1_500;

/** Messages of Postgres itself. An accepted socket proves nothing, since the kernel accepts for a hung server too. */
export const SIGNS = [
  'sslconnect',
  'authenticationSASL',
  'authenticationSASLContinue',
  'authenticationCleartextPassword',
  'authenticationMD5Password',
  'authenticationOk',
  'readyForQuery',
];

/**
 * A client that gives up connecting once the database has answered none of the pool's connections for the connect
 * timeout. One connect may take longer than that while the database, or this process, is busy.
 */
export function watchedClient(pulse: Pulse): typeof pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig) {
      // pg-pool passes its queue timeout on as the connect timeout: disable it, watchConnectTimeout replaces it.
      super({ ...config, connectionTimeoutMillis: 0 });
      const wire = wireOf(this);
      for (const sign of SIGNS) {
        wire.on(sign, () => {
          pulse.at = performance.now();
        });
      }
      const stop = watchConnectTimeout(pulse, () => wire.stream.destroy(new Error('timeout expired')));
      for (const end of ['readyForQuery', 'error', 'end']) wire.once(end, stop);
    }
  };
}

interface Wire extends EventEmitter {
  readonly stream: Socket;
}

/** The client's connection, which the library does not document. */
export function wireOf(client: pg.Client): Wire {
  return (client as unknown as { readonly connection: Wire }).connection;
}

/** Calls `giveUp` when the database is silent for the connect timeout. Returns a function that cancels this. */
function watchConnectTimeout(pulse: Pulse, giveUp: () => void): () => void {
  let lastSeen = pulse.at;
  let left = POLLS;
  let timer: NodeJS.Timeout;
  let over = false;
  const poll = () => {
    // First let the process read answers that arrived while it was busy.
    setImmediate(() => {
      if (over) return;
      left = pulse.at > lastSeen ? POLLS : left - 1;
      lastSeen = pulse.at;
      if (left === 0) giveUp();
      else wait();
    });
  };
  const wait = () => {
    timer = setTimeout(poll, CONNECT_TIMEOUT_MS / POLLS);
    timer.unref();
  };
  wait();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
