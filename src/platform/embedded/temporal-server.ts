import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { sleep } from '../../shared/deadline.js';
import { errorMessage } from '../../shared/refusal.js';
import { DrainedConnection } from '../temporal/index.js';
import { type Child, spawnChild } from './child.js';
import type { DataFolder } from './data-folder.js';
import { endServer, killServer, recordServer } from './process-records.js';
import { explainStart } from './server-log.js';
import type { TemporalSettings } from './temporal-settings.js';

export interface TemporalServer {
  readonly child: Child;
  readonly address: string;
  stop(): Promise<void>;
  /** Kills it at once. */
  kill(): Promise<void>;
}

export interface TemporalStart {
  readonly binary: string;
  readonly settings: TemporalSettings;
  readonly folder: DataFolder;
  readonly port: number;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
}

const READY_TIMEOUT_MS = 60_000;

/** Starts Temporal's development server on the folder's SQLite file and waits until its namespace answers. */
export async function startTemporal(start: TemporalStart): Promise<TemporalServer> {
  const { binary, folder, port } = start;
  const logFile = join(folder.logs, 'temporal.log');
  const logStart = (await stat(logFile).catch(() => ({ size: 0 }))).size;
  const child = spawnChild({ command: binary, args: serverArguments(start), cwd: folder.root, logFile });
  recordServer(folder.processes, 'temporal', { ...child.identity, port });
  const address = `127.0.0.1:${port}`;
  const server = {
    child,
    address,
    stop: () => endServer(folder, 'temporal', child),
    kill: () => killServer(child),
  };
  try {
    await waitUntilReady(address, start, child);
  } catch (error) {
    await server.stop();
    throw await explainStart({ name: 'Temporal', logFile, logStart, port, folder: folder.root }, error);
  }
  return server;
}

function serverArguments({ settings, folder, port }: TemporalStart): string[] {
  const each = (flag: string, pairs: object, value: (raw: unknown) => string) =>
    Object.entries(pairs).flatMap(([key, raw]) => [flag, `${key}=${value(raw)}`]);
  return [
    ...['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)],
    ...['--db-filename', folder.temporalFile, '--namespace', settings.namespace],
    ...['--log-level', settings.logLevel, '--log-format', 'json'],
    ...each('--sqlite-pragma', settings.sqlitePragmas, String),
    ...each('--dynamic-config-value', settings.dynamicConfig, JSON.stringify),
    ...each('--search-attribute', settings.searchAttributes, String),
  ];
}

/** Waits until the namespace can be described: before that, a worker's first poll would fail. */
async function waitUntilReady(address: string, { settings, signal }: TemporalStart, child: Child): Promise<void> {
  const until = Date.now() + READY_TIMEOUT_MS;
  const connection = DrainedConnection.open({ address });
  let last: unknown;
  try {
    while (Date.now() < until) {
      signal?.throwIfAborted();
      if (child.hasExited()) throw new Error(await child.exited);
      try {
        await connection.withDeadline(Date.now() + 1_000, () => setRetention(connection, settings));
        return;
      } catch (error) {
        last = error;
        await sleep(50);
      }
    }
  } finally {
    await connection.close();
  }
  throw new Error(`it did not become ready within ${READY_TIMEOUT_MS / 1_000} s: ${errorMessage(last)}`);
}

async function setRetention(connection: Connection, { namespace, retention }: TemporalSettings): Promise<void> {
  const ttl = msToTs(Number.parseInt(retention, 10) * 3_600_000);
  const { config } = await connection.workflowService.describeNamespace({ namespace });
  if (Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) === Number(ttl.seconds)) return;
  await connection.workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: ttl } });
}
