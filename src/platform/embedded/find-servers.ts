import { readFile } from 'node:fs/promises';
import type { Config } from '../config/index.js';
import { dataFolder } from './data-folder.js';
import { postgresUrl } from './postgres.js';
import { livingServers } from './process-records.js';
import { StartError } from './start-error.js';
import { readTemporalSettings } from './temporal-settings.js';

export interface FoundServers {
  readonly databaseUrl: string;
  readonly temporal: { readonly address: string; readonly namespace: string };
}

/**
 * Finds the servers of a running installation: those that the configuration names, else those of its data folder.
 * Starts none.
 */
export async function findServers(config: Pick<Config, 'dataDir' | 'databaseUrl' | 'temporal'>): Promise<FoundServers> {
  const folder = dataFolder(config.dataDir);
  const { postgres, temporal } = livingServers(folder.processes);
  const { address, namespace } = config.temporal;
  return {
    databaseUrl:
      config.databaseUrl ?? postgresUrl(await password(folder.postgresPassword), portOf(postgres, folder.root)),
    temporal:
      address === null
        ? {
            address: `127.0.0.1:${portOf(temporal, folder.root)}`,
            namespace: (await readTemporalSettings()).namespace,
          }
        : { address, namespace },
  };
}

function portOf(server: { readonly port?: number | undefined } | undefined, root: string): number {
  if (server?.port !== undefined) return server.port;
  const what = server
    ? `runs on ${root} since before this version: start it again`
    : `does not run on ${root}: start it`;
  throw new StartError(
    `Signalbox ${what}, set SERVICE_DATA_DIR to its folder, or set DATABASE_URL and TEMPORAL_ADDRESS.`,
  );
}

/** Empty when it cannot be read: without a password there is no server either, and the caller reports that. */
function password(file: string): Promise<string> {
  return readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
}
