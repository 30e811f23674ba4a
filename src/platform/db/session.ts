import pg from 'pg';
import type { DbSession } from './contract.js';
import { toDatabaseError } from './errors.js';
import { sqlOn } from './transaction.js';

export async function openSession(config: pg.ClientConfig): Promise<DbSession> {
  const client = new pg.Client({ ...config, application_name: 'signalbox-session' });
  const ended = new Promise<void>((resolve) => {
    client.once('end', resolve);
    client.once('error', () => resolve());
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    client.end().catch(() => undefined);
    throw toDatabaseError(error);
  }
  return {
    ...sqlOn(client),
    ended,
    close: () => client.end().catch(() => undefined),
  };
}
