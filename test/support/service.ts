import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunView } from '../../src/contract/runs.js';
import { createDb, type Db } from '../../src/platform/db/index.js';
import type { FakeProvider } from './fake-provider.js';
import { PATIENCE_MS } from './patience.js';
import { markOf, untilNews } from './run-news.js';
import { sendWithRetry } from './send-with-retry.js';
import { createServiceHost, type Service } from './service-host.js';
import { silentLog } from './silent-log.js';
import { fileList, type Tree } from './workspace-app.js';

export interface DrivenService extends Service {
  readonly url: string;
  readonly dataDir: string;
  /** A connection of the test's own to the folder's database, for as long as this start lives. */
  readonly db: Db;
  kill9(): Promise<void>;
  stop(): Promise<void>;
  workspace(files: Tree): Promise<string>;
  /** Starts a run and answers its id. */
  start(workspace: string, flow: string, body?: object): Promise<string>;
  run(workspace: string, id: string): Promise<RunView>;
}

type Env = Readonly<Record<string, string>>;
type ServerName = 'postgres' | 'temporal';

/** Services on the built dist/, whose only model is the fake provider; everything ends with `close`. */
export async function createServices(provider: FakeProvider) {
  const host = await createServiceHost();
  const opened: Db[] = [];
  const models = {
    SERVICE_LLM_BASE_URL: provider.url,
    SERVICE_LLM_MODEL: 'fake',
    SERVICE_LLM_PRICE_IN: '1',
    SERVICE_LLM_PRICE_OUT: '10',
  };
  return {
    folder: () => host.folder(),
    /** A worker, which serves nothing. */
    startWorker: (dataDir: string, env: Env) => host.start(dataDir, { ...models, SERVICE_ROLE: 'worker', ...env }),
    async startService({ dataDir, env = {} }: { dataDir: string; env?: Env }): Promise<DrivenService> {
      const service = await host.start(dataDir, { ...models, ...env });
      const url = env.DATABASE_URL ?? (await embeddedDatabase(dataDir));
      const db = createDb({ url, ca: null, poolSize: 3, log: silentLog });
      opened.push(db);
      return drive(service, { dataDir, db });
    },
    async close() {
      for (const db of opened) await db.close().catch(() => undefined);
      await host.close();
    },
  };
}

/** The URL of the Postgres that serves the data folder now: its port is on the fourth line of postmaster.pid. */
export async function embeddedDatabase(dataDir: string): Promise<string> {
  const password = (await readFile(join(dataDir, 'postgres-password'), 'utf8')).trim();
  const port = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[3];
  return `postgresql://signalbox:${password}@127.0.0.1:${port}/postgres`;
}

/** The pid of a server of the data folder, as the service recorded it. */
export async function serverPid(dataDir: string, name: ServerName): Promise<number> {
  const records = JSON.parse(await readFile(join(dataDir, 'processes.json'), 'utf8'));
  return records[name].pid as number;
}

/** The address of the embedded Temporal, from its command line. */
export async function temporalAddress(dataDir: string): Promise<string> {
  const command = await readFile(`/proc/${await serverPid(dataDir, 'temporal')}/cmdline`, 'utf8');
  return `127.0.0.1:${/--port\0(\d+)/.exec(command)?.[1]}`;
}

function drive(service: Service, { dataDir, db }: { dataDir: string; db: Db }): DrivenService {
  function post(path: string, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
    return sendWithRetry(() => service.request(path, { method: 'POST', body: JSON.stringify(body), headers }));
  }
  return {
    ...service,
    url: service.url ?? '',
    dataDir,
    db,
    kill9: async () => void (await service.end('SIGKILL')),
    stop: async () => void (await service.end('SIGTERM')),
    async workspace(files) {
      const name = `w-${Math.random().toString(36).slice(2, 12)}`;
      await expectStatus(post('/api/workspaces', { name, files: fileList(files) }), 201);
      return name;
    },
    async start(workspace, flow, body = {}) {
      const response = await expectStatus(post(`/api/workspaces/${workspace}/flows/${flow}/run`, body), 202);
      return ((await response.json()) as { runId: string }).runId;
    },
    async run(workspace, id) {
      const path = `/api/workspaces/${workspace}/runs/${id}`;
      const response = await expectStatus(
        sendWithRetry(() => service.request(path)),
        200,
      );
      return (await response.json()) as RunView;
    },
  };
}

async function expectStatus(asking: Promise<Response>, status: number): Promise<Response> {
  const response = await asking;
  if (response.status !== status) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

/** Decides whatever the run waits for, once; a gate of a child run is decided in the child. */
export async function release(service: DrivenService, workspace: string, run: RunView): Promise<void> {
  for (const wait of run.waiting) {
    if (wait.runId) await release(service, workspace, await service.run(workspace, wait.runId));
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } };
    if (wait.kind === 'approval') {
      const body = JSON.stringify({ decision: 'approve', step: wait.step, ...wait.gate });
      await service.request(`/api/workspaces/${workspace}/runs/${run.id}/approve`, { ...json, body });
    }
    if (wait.kind === 'event' && run.steps[wait.step - 1]?.status === 'waiting') {
      const { pathname, search } = new URL(wait.releaseUrl ?? '');
      await fetch(`${service.url}${pathname}${search}`, { ...json, body: JSON.stringify({ photo: 'x.jpg' }) });
    }
  }
}

/** Moves a run on until it has ended, deciding what it waits for, or until the service has died. */
export async function driveRun(
  service: DrivenService,
  { workspace, id, timeoutMs = PATIENCE_MS.run }: { workspace: string; id: string; timeoutMs?: number },
): Promise<RunView | 'died'> {
  let died = false;
  void service.exited.then(() => {
    died = true;
  });
  const until = Date.now() + timeoutMs;
  for (;;) {
    if (died) return 'died';
    const mark = await markOf(service.db, id);
    // The service may die under a request: what counts is that it did.
    const run = await service.run(workspace, id).catch(() => null);
    if (run?.finishedAt) return run;
    if (run) await release(service, workspace, run).catch(() => undefined);
    if (Date.now() > until) throw new Error(`the run stayed: ${JSON.stringify(run, null, 1).slice(0, 6_000)}`);
    await untilNews(service.db, { run: id, mark });
  }
}
