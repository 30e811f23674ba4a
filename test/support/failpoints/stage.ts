import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunView } from '../../../src/contract/runs.js';
import { examine } from '../../../src/observe/index.js';
import { mintKey } from '../../../src/people/index.js';
import type { Db } from '../../../src/platform/db/index.js';
import { createBlobStore } from '../../../src/platform/storage/index.js';
import { connectTemporal, createWorkflows } from '../../../src/platform/temporal/index.js';
import { newId } from '../../../src/shared/ids.js';
import { insertMember } from '../create-test-app.js';
import { audit } from '../doctor.js';
import type { FakeProvider } from '../fake-provider.js';
import { PATIENCE_MS } from '../patience.js';
import { freshDatabase } from '../postgres.js';
import { reportDeaths } from '../report-deaths.js';
import { createServices, type DrivenService } from '../service.js';
import { testTemporal } from '../temporal.js';
import type { Job } from './job.js';
import { type Keys, play } from './play.js';
import { startReceiver } from './receiver.js';

export interface Row {
  readonly point: string;
  readonly job: Job;
  /** Of its own, so that nothing is counted twice. */
  readonly workspace: string;
}

/** How a row came out: the end of its runs, what was done, and everything that is wrong. */
export interface Outcome {
  readonly runs: readonly RunView[];
  readonly did: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
}

export type Outcomes = Map<Row, Outcome | Error>;

/** An installation of its own, on the servers that all tests share. */
async function createStage(provider: FakeProvider) {
  const services = await createServices(provider);
  const receiver = await startReceiver();
  const database = await freshDatabase();
  const dataDir = await services.folder();
  const temporal = testTemporal();
  const taskQueue = `failpoints-${newId()}`;
  const env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    TEMPORAL_TASK_QUEUE: taskQueue,
    SERVICE_ALLOW_HOSTS: '127.0.0.1',
    SERVICE_MODELS_FILE: await writeModels(dataDir, provider.url),
  };
  const start = (role: 'all' | 'api', more: Readonly<Record<string, string>> = {}) =>
    services.startService({ dataDir, env: { ...env, SERVICE_ROLE: role, ...more } });
  return {
    receiver,
    start,
    startWorker: (more: Readonly<Record<string, string>> = {}) => services.startWorker(dataDir, { ...env, ...more }),
    reportDeaths: () => reportDeaths({ ...temporal, taskQueue }),
    keys: (db: Db) => keysOf(db, dataDir),
    async judge(service: DrivenService, { workspace }: Row, ids: readonly string[]): Promise<Outcome> {
      await untilTold(service.db, ids);
      const calls = provider.byKey();
      const found = await Promise.all(
        ids.map((runId) => audit({ db: service.db, dataDir, temporal: temporal.address, runId, calls })),
      );
      const runs = await Promise.all(ids.map((id) => service.run(workspace, id)));
      return { runs, faults: found.flat(), did: await audited(service.db, workspace) };
    },
    doctor: (db: Db) => doctor(db, dataDir, taskQueue),
    async close() {
      await services.close();
      await receiver.close();
      await database.drop();
    },
  };
}

/** Rows whose failpoint an API comes by: it dies there, and the whole job is asked for again from one that lives. */
export async function killApis(provider: FakeProvider, rows: readonly Row[], outcomes: Outcomes): Promise<string[]> {
  const stage = await createStage(provider);
  try {
    const service = await stage.start('all');
    const keys = await stage.keys(service.db);
    const { receiver } = stage;
    const perform = async (row: Row): Promise<Outcome> => {
      const armed = await stage.start('api', armedWith(row));
      const playing = play(row, { service: armed, keys, receiver });
      await untilKilled(armed, playing, row.point);
      return stage.judge(service, row, await play(row, { service, keys, receiver }));
    };
    const next = rows.values();
    const work = async () => {
      for (const row of next) outcomes.set(row, await perform(row).catch((error: Error) => error));
    };
    await Promise.all([work(), work(), work()]);
    return await stage.doctor(service.db);
  } finally {
    await stage.close();
  }
}

/**
 * Rows whose failpoint a worker comes by: one after the other dies there, and the next ones go on with what it left. A
 * later worker may come by its point in an earlier job: then that one was cut twice.
 */
export async function killWorkers(provider: FakeProvider, rows: readonly Row[], outcomes: Outcomes): Promise<string[]> {
  const stage = await createStage(provider);
  try {
    const service = await stage.start('api');
    const keys = await stage.keys(service.db);
    const { receiver } = stage;
    const begun: Begun[] = [];
    for (const row of rows) {
      await endOld(begun, stage);
      const armed = await stage.startWorker(armedWith(row));
      const one: Begun = { row, playing: play(row, { service, keys, receiver }), kills: 0, ended: false };
      const end = () => {
        one.ended = true;
      };
      one.playing.then(end, end);
      begun.push(one);
      await untilKilled(armed, one.playing, row.point).catch((error: Error) => outcomes.set(row, error));
      for (const each of begun) each.kills += 1;
    }
    // The leases of dead workers end by themselves; the last worker need not wait for that.
    await service.db.query(`UPDATE notification SET due_at = now() - interval '1 s' WHERE state = 'pending'`);
    await stage.reportDeaths();
    await stage.startWorker();
    await Promise.all(
      begun.map(async ({ row, playing }) => {
        const outcome = await playing.then((ids) => stage.judge(service, row, ids)).catch((error: Error) => error);
        if (!outcomes.has(row)) outcomes.set(row, outcome);
      }),
    );
    return await stage.doctor(service.db);
  } finally {
    await stage.close();
  }
}

type Stage = Awaited<ReturnType<typeof createStage>>;

interface Begun {
  readonly row: Row;
  readonly playing: Promise<readonly string[]>;
  /** Workers that died since it was begun. */
  kills: number;
  ended: boolean;
}

/** A call that three workers leave is given up: what may have been left by that many but one is finished in peace. */
async function endOld(begun: readonly Begun[], stage: Pick<Stage, 'reportDeaths' | 'startWorker'>): Promise<void> {
  const old = begun.filter(({ row, kills, ended }) => !ended && kills >= (row.job.cases ? 1 : MOST_KILLS));
  if (old.length === 0) return;
  await stage.reportDeaths();
  const worker = await stage.startWorker();
  await Promise.all(old.map(({ playing }) => playing.catch(() => null)));
  await worker.end('SIGTERM');
}

/** Runs hardly ever get to a call under a worker that is about to die; the judge of an eval is asked at once. */
const MOST_KILLS = 6;

/** What a dead process has told Temporal, but not noted as told, is told again by the sweep of a living one. */
async function untilTold(db: Db, ids: readonly string[]): Promise<void> {
  const open = () => db.query('SELECT 1 FROM outbox WHERE run_id = ANY($1)', [ids]);
  for (const end = Date.now() + PATIENCE_MS.poll; (await open()).length > 0 && Date.now() < end; ) await sleep(100);
}

const armedWith = ({ point, job }: Row) => ({ SERVICE_FAILPOINT: `${point}*${job.nth ?? 1}` });

async function writeModels(dataDir: string, url: string): Promise<string> {
  const file = join(dataDir, 'models.yaml');
  const model = (contextTokens: number) =>
    `{ provider: openai-compatible, baseUrl: "${url}", model: fake, priceIn: 1, priceOut: 10, contextTokens: ${contextTokens} }`;
  await writeFile(file, `default: usual\nmodels:\n  usual: ${model(100_000)}\n  small: ${model(8_000)}\n`);
  return file;
}

/** The owner's key, and one of a second person who may decide. */
async function keysOf(db: Db, dataDir: string): Promise<Keys> {
  const [tenant] = await db.query<{ id: string }>('SELECT id FROM tenant');
  const { key: owner } = JSON.parse(await readFile(join(dataDir, 'bootstrap.json'), 'utf8')) as { key: string };
  const member = { id: newId(), email: 'second@x.test' };
  const at = { tenant: tenant?.id ?? '', role: 'editor' } as const;
  await insertMember(db, { ...member, ...at, workspaces: null });
  return { owner, second: (await mintKey(db, { ...at, label: 'second', mintedBy: member })).key };
}

async function untilKilled(
  { exited }: { readonly exited: Promise<number | null> },
  playing: Promise<unknown>,
  point: string,
): Promise<void> {
  const killed = exited.then((code) => (code === null ? null : new Error(`it ended by itself with ${code}`)));
  const lived = playing.then(
    () => new Error(`the job was done without coming by ${point}`),
    (error: Error) => error,
  );
  const first = await Promise.race([killed, lived]);
  // Whatever the job met is the kill's doing, when there was one.
  const why = first && (await Promise.race([killed, sleep(PATIENCE_MS.poll, first, { ref: false })]));
  if (why) throw why;
}

/** As the doctor says of what it finds: a worker's reconciler mends it within two minutes. What stays is wrong. */
const MENDED_MS = 180_000;

/** What the doctor finds wrong with the whole installation, and no living worker mends. */
async function doctor(db: Db, dataDir: string, taskQueue: string): Promise<string[]> {
  const { address, namespace } = testTemporal();
  const connection = await connectTemporal({ address, tls: null });
  const workflows = createWorkflows({ connection, namespace, taskQueue });
  try {
    const blobs = createBlobStore({ dataDir, s3: null });
    const scene = { deps: { db, workflows, blobs, config: { dataDir }, keys: null }, root: null };
    for (const end = Date.now() + MENDED_MS; ; await sleep(1_000)) {
      const findings = await examine(scene);
      if (findings.length === 0 || Date.now() > end) return findings.map(({ says }) => says);
    }
  } finally {
    await workflows.close();
  }
}

/** How often each action was done in the workspace. */
async function audited(db: Db, workspace: string): Promise<Readonly<Record<string, number>>> {
  const rows = await db.query<{ action: string; count: number }>(
    `SELECT action, count(*)::int AS count FROM audit_entry WHERE target = $1 OR detail->>'workspace' = $1
        OR target IN (SELECT r.id FROM run r JOIN workspace w ON w.id = r.workspace_id WHERE w.name = $1)
        OR target IN (SELECT e.id FROM eval_run e JOIN workspace w ON w.id = e.workspace_id WHERE w.name = $1)
      GROUP BY action`,
    [workspace],
  );
  return Object.fromEntries(rows.map(({ action, count }) => [action, count]));
}
