import { sleep } from '../../shared/deadline.js';
import type { Log } from '../../shared/log.js';
import type { Child } from './child.js';

interface Server {
  readonly child: Child;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface KeptServer {
  /** Ends the server and leaves it ended. */
  close(): Promise<void>;
  /** The same at once, for a server that does not end. */
  kill(): Promise<void>;
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 15_000;
/** A server that lived this long restarts without backoff. */
const STEADY_MS = 60_000;

/** Restarts a server on the same port whenever it exits; the wait grows each time that it exits soon. */
export function superviseServer(name: string, first: Server, restart: () => Promise<Server>, log: Log): KeptServer {
  let server: Server = first;
  const closing = new AbortController();

  async function watch(): Promise<void> {
    let wait = FIRST_WAIT_MS;
    while (!closing.signal.aborted) {
      const began = Date.now();
      const how = await server.child.exited;
      if (closing.signal.aborted) return;
      if (Date.now() - began > STEADY_MS) wait = FIRST_WAIT_MS;
      log.error({ server: name, how, restartInMs: wait }, `${name} ended by itself and is started again`);
      wait = await bringBack(wait);
    }
  }

  async function bringBack(wait: number): Promise<number> {
    for (let next = wait; ; next = Math.min(next * 2, LONGEST_WAIT_MS)) {
      await sleep(next, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return next;
      try {
        server = await restart();
        log.info({ server: name }, `${name} restarted`);
        return Math.min(next * 2, LONGEST_WAIT_MS);
      } catch (error) {
        log.error({ server: name, err: error }, `failed to restart ${name}`);
      }
    }
  }

  const watching = watch();
  return {
    async close() {
      closing.abort();
      await server.stop();
      // A restart that was under way when we were asked to close has made a new server.
      await watching;
      await server.stop();
    },
    async kill() {
      closing.abort();
      await server.kill();
    },
  };
}
