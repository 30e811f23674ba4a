import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig, readEnvironment } from '../src/platform/config/index.js';
import { startEmbedded } from '../src/platform/embedded/index.js';
import { quietLog } from '../src/shared/log.js';

export interface Servers {
  readonly databaseUrl: string;
  readonly temporal: { readonly address: string; readonly namespace: string };
  /** The process of each; its children belong to it. */
  readonly parts: Readonly<Record<'postgres' | 'temporal', readonly number[]>>;
  readonly dataDir: string;
  /** What a service needs to work with them. */
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

/** The embedded Postgres and Temporal, in a folder of their own that goes with them. */
export async function startServers(): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
  const environment = readEnvironment();
  const config = parseConfig(
    { ...environment, SERVICE_DATA_DIR: join(folder, 'servers'), DATABASE_URL: '', TEMPORAL_ADDRESS: '' },
    'bench',
  );
  const embedded = await startEmbedded({ config, log: quietLog, progress: () => undefined, environment });
  const records = JSON.parse(readFileSync(join(folder, 'servers', 'processes.json'), 'utf8')) as Record<
    'postgres' | 'temporal',
    { readonly pid: number }
  >;
  const { databaseUrl, temporal } = embedded;
  return {
    databaseUrl,
    temporal,
    parts: { postgres: [records.postgres.pid], temporal: [records.temporal.pid] },
    dataDir: join(folder, 'data'),
    env: {
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
    },
    stop: async () => {
      await embedded.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
