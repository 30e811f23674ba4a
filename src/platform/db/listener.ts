import pg from 'pg';
import type { Log } from '../../shared/log.js';

export interface Listener {
  listen(channel: string, onPayload: (payload: string) => void): () => void;
  close(): Promise<void>;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

type Handler = (payload: string) => void;

/**
 * The process's one LISTEN connection, opened at the first `listen`. When it breaks it reconnects and listens to every
 * channel again. Notifications sent in between are lost, so readers poll the rows as well.
 */
export function createListener(config: pg.ClientConfig, log: Log): Listener {
  const channels = new Map<string, Set<Handler>>();
  let client: pg.Client | null = null;
  let connecting: Promise<void> | null = null;
  let retry: NodeJS.Timeout | undefined;
  let delay = FIRST_RETRY_MS;
  let closed = false;

  function deliver({ channel, payload }: pg.Notification): void {
    for (const handler of channels.get(channel) ?? []) {
      try {
        handler(payload ?? '');
      } catch (error) {
        log.error({ channel, err: error }, 'notification handler failed');
      }
    }
  }

  function lost(error: unknown): void {
    if (closed || retry) return;
    client = null;
    log.warn({ err: error, retryInMs: delay }, 'LISTEN connection lost, will reconnect');
    retry = setTimeout(() => {
      retry = undefined;
      connect();
    }, delay);
    delay = Math.min(delay * 2, LONGEST_RETRY_MS);
  }

  async function open(): Promise<void> {
    const next = new pg.Client({ ...config, application_name: 'signalbox-listen' });
    next.on('error', (error) => client === next && lost(error));
    next.on('end', () => client === next && lost(new Error('connection ended')));
    next.on('notification', deliver);
    try {
      await next.connect();
      client = next;
      for (const channel of channels.keys()) await next.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      delay = FIRST_RETRY_MS;
    } catch (error) {
      client = null;
      next.end().catch(() => undefined);
      lost(error);
    }
  }

  function connect(): void {
    connecting ??= open().finally(() => {
      connecting = null;
    });
  }

  function send(verb: 'LISTEN' | 'UNLISTEN', channel: string): void {
    // A statement fails only when the connection is broken; the reconnect listens to all channels again.
    client?.query(`${verb} ${pg.escapeIdentifier(channel)}`).catch(() => undefined);
  }

  return {
    listen(channel, onPayload) {
      const handlers = channels.get(channel) ?? new Set();
      handlers.add(onPayload);
      channels.set(channel, handlers);
      if (handlers.size === 1) send('LISTEN', channel);
      if (!client && !retry) connect();
      return () => {
        if (!handlers.delete(onPayload) || handlers.size > 0 || channels.get(channel) !== handlers) return;
        channels.delete(channel);
        send('UNLISTEN', channel);
      };
    },
    async close() {
      closed = true;
      clearTimeout(retry);
      channels.clear();
      await connecting;
      await client?.end().catch(() => undefined);
    },
  };
}
