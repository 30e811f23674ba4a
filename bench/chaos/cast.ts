import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, parseConfig, readEnvironment } from '../../src/platform/config/index.js';
import { createDb, type Db } from '../../src/platform/db/index.js';
import { type Embedded, freePort, startEmbedded } from '../../src/platform/embedded/index.js';
import { quietLog } from '../../src/shared/log.js';
import { ServiceProcess } from './service-process.js';

export const ACTORS = ['api', 'worker-1', 'worker-2', 'postgres', 'temporal'] as const;
export type ActorName = (typeof ACTORS)[number];

/** Everything that takes part: two servers under their supervisor, an API and two workers, each a process. */
export interface Cast {
  readonly url: string;
  readonly key: () => string;
  readonly db: Db;
  /** How the doctor finds the installation. */
  readonly env: Readonly<Record<string, string>>;
  /** Null while it is down. */
  pid(actor: ActorName): number | null;
  close(): Promise<void>;
  /** Ends all processes at once, for an exit that waits for nothing. */
  killNow(): void;
}

/** `apart`: each process has a session of its own, as on a server, so that its callers do not have its time. */
export async function startCast(folder: string, providerUrl: string, apart = false): Promise<Cast> {
  const environment = readEnvironment();
  const servers = join(folder, 'servers');
  const dataDir = join(folder, 'data');
  mkdirSync(join(folder, 'logs'), { recursive: true });
  const config = parseConfig(
    { ...environment, SERVICE_DATA_DIR: servers, DATABASE_URL: '', TEMPORAL_ADDRESS: '' },
    'chaos',
  );
  const embedded = await startEmbedded({ config, log: quietLog, progress: () => undefined, environment });
  const port = String(await freePort());
  const env = serviceEnv(embedded, { dataDir, providerUrl });
  const logOf = (name: string) => (text: string) => appendFileSync(join(folder, 'logs', `${name}.log`), text);
  const services = {
    api: new ServiceProcess({ ...env, SERVICE_ROLE: 'api', SERVICE_PORT: port }, logOf('api'), apart),
    'worker-1': new ServiceProcess({ ...env, SERVICE_ROLE: 'worker', SERVICE_PORT: port }, logOf('worker-1'), apart),
    'worker-2': new ServiceProcess({ ...env, SERVICE_ROLE: 'worker', SERVICE_PORT: port }, logOf('worker-2'), apart),
  };
  const all = Object.values(services);
  // The first one brings the database up to date.
  await services.api.start();
  await Promise.all([services['worker-1'].start(), services['worker-2'].start()]);
  const db = createDb({ url: embedded.databaseUrl, ca: null, poolSize: 4, log: quietLog });
  return {
    url: `http://127.0.0.1:${port}`,
    key: () => (JSON.parse(readFileSync(join(dataDir, 'bootstrap.json'), 'utf8')) as { key: string }).key,
    db,
    env,
    pid: (actor) => (actor === 'postgres' || actor === 'temporal' ? serverPid(servers, actor) : services[actor].pid),
    async close() {
      await Promise.all(all.map((service) => service.close()));
      await db.close();
      await embedded.close();
    },
    killNow() {
      for (const service of all) service.killNow();
      for (const name of ['postgres', 'temporal'] as const) kill(serverPid(servers, name));
    },
  };
}

function serviceEnv(
  { databaseUrl, temporal }: Embedded,
  { dataDir, providerUrl }: { dataDir: Config['dataDir']; providerUrl: string },
): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    SERVICE_DATA_DIR: dataDir,
    SERVICE_LLM_BASE_URL: providerUrl,
    SERVICE_LLM_MODEL: 'storm',
    SERVICE_LLM_PRICE_IN: '1',
    SERVICE_LLM_PRICE_OUT: '10',
  };
}

/** Of the recorded process, while it lives. */
function serverPid(servers: string, name: 'postgres' | 'temporal'): number | null {
  try {
    const records = JSON.parse(readFileSync(join(servers, 'processes.json'), 'utf8')) as Record<
      string,
      { pid: number }
    >;
    const pid = records[name]?.pid ?? 0;
    process.kill(pid, 0);
    return pid === 0 ? null : pid;
  } catch {
    return null;
  }
}

function kill(pid: number | null): void {
  try {
    if (pid !== null) process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

/** Processes that name the folder, but for ourselves: none may be left. Linux only. */
export function processesOf(folder: string): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid && names(name, folder),
  );
}

function names(pid: string, folder: string): boolean {
  return ['cmdline', 'environ'].some((file) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(folder);
    } catch {
      return false;
    }
  });
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
