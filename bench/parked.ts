import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { distDir } from '../src/platform/db/index.js';
import { cpuMs, forkReady, memoryMb } from './processes.js';
import { type Servers, startServers } from './servers.js';
import { type Service, startService } from './service.js';

const COUNT = Number(process.argv[process.argv.indexOf('--parked') + 1] ?? 10_000);
const RELEASED = 500;
const WARM = 500;
/** More than a minute, so that each window has a round of the reconciler in it. */
const WINDOW_MS = 65_000;

const FILES = [
  { path: 'agents/worker.md', content: '---\ndescription: Works.\n---\n\nYou work.\n' },
  {
    path: 'flows/wait.md',
    content:
      '---\ndescription: Waits.\n---\n\n## Wait\n\n- wait: event\n\nFor the event.\n\n## Next @worker\n\nDo it.\n',
  },
];

type Parts = Readonly<Record<string, readonly number[]>>;
const rows: (readonly string[])[] = [];

async function crowd<T>(items: readonly T[], width: number, work: (item: T) => Promise<unknown>): Promise<void> {
  const next = items.values();
  const lane = async () => {
    for (const item of next) await work(item);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

interface Figures {
  readonly memory: Readonly<Record<string, number>>;
  /** Per cent of one core. */
  readonly cpu: Readonly<Record<string, number>>;
}

async function measure(parts: Parts): Promise<Figures> {
  const each = (read: (pids: readonly number[]) => number) =>
    Object.fromEntries(Object.entries(parts).map(([name, pids]) => [name, read(pids)]));
  const before = each(cpuMs);
  await wait(WINDOW_MS);
  const after = each(cpuMs);
  const cpu = Object.keys(parts).map((name) => [name, (((after[name] ?? 0) - (before[name] ?? 0)) / WINDOW_MS) * 100]);
  return { memory: each(memoryMb), cpu: Object.fromEntries(cpu) };
}

function addRow(title: string, { memory, cpu }: Figures): void {
  const sum = (values: Readonly<Record<string, number>>) => Object.values(values).reduce((a, b) => a + b, 0);
  const cells = Object.keys(memory).map((name) => `${memory[name]?.toFixed(0)} MB, ${cpu[name]?.toFixed(2)} %`);
  rows.push([title, ...cells, `${sum(memory).toFixed(0)} MB, ${sum(cpu).toFixed(2)} %`]);
  process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
}

async function count(db: Client, where: string): Promise<number> {
  const { rows: found } = await db.query<{ n: number }>(`SELECT count(*)::int AS n FROM run r WHERE ${where}`);
  return found[0]?.n ?? 0;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(20);
}

const PARKED = `finished_at IS NULL AND EXISTS (SELECT 1 FROM lane l WHERE l.run_id = r.id AND l.state = 'parked')`;

async function park(service: Service, db: Client, many: number): Promise<void> {
  const goal = (await count(db, PARKED)) + many;
  await crowd(Array.from({ length: many }), 50, () => service.call('/api/workspaces/bench/flows/wait/run', {}));
  await until(async () => (await count(db, PARKED)) >= goal);
}

interface Released {
  /** Until all had completed. */
  readonly ms: number;
  /** CPU a run, of each part, in ms. */
  readonly cpu: string;
}

/** Releases so many of the parked runs at once. */
async function release(
  service: Service,
  db: Client,
  { many, parts }: { many: number; parts: Parts },
): Promise<Released> {
  const { rows: ids } = await db.query<{ id: string }>(
    `SELECT id FROM run r WHERE ${PARKED} ORDER BY random() LIMIT $1`,
    [many],
  );
  const urls: string[] = [];
  await crowd(ids, 20, async ({ id }) => {
    const run = await service.call(`/api/workspaces/bench/runs/${id}`);
    urls.push((run.waiting as unknown as { releaseUrl: string }[])[0]?.releaseUrl ?? '');
  });
  const goal = (await count(db, 'finished_at IS NOT NULL')) + many;
  const spent = () => Object.entries(parts).map(([name, pids]) => [name, cpuMs(pids)] as const);
  const before = new Map(spent());
  const began = performance.now();
  await Promise.all(
    urls.map(async (url) => {
      const response = await fetch(url, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    }),
  );
  await until(async () => (await count(db, 'finished_at IS NOT NULL')) >= goal);
  const ms = performance.now() - began;
  const cpu = spent().map(([name, at]) => `${name} ${((at - (before.get(name) ?? 0)) / many).toFixed(0)}`);
  process.stderr.write(`${many} released: ${ms.toFixed(0)} ms, CPU a run in ms: ${cpu.join(', ')}\n`);
  return { ms, cpu: cpu.join(', ') };
}

async function main(servers: Servers, closers: (() => unknown)[]): Promise<void> {
  const mock = await forkReady(join(distDir, 'bench/mock-provider.js'));
  closers.push(() => mock.child.disconnect());
  const env = {
    ...servers.env,
    SERVICE_LLM_BASE_URL: `http://127.0.0.1:${mock.word.port}/v1`,
    SERVICE_LLM_MODEL: 'mock',
  };
  let service = await startService(distDir, servers.dataDir, env);
  closers.push(() => service.stop());
  const db = new Client({ connectionString: servers.databaseUrl });
  await db.connect();
  closers.push(() => db.end());
  const parts = (): Parts => ({ service: [service.pid], ...servers.parts });
  await service.call('/api/workspaces', { name: 'bench', files: FILES });
  // What any use of it costs, however many are parked: caches, connections, compiled code.
  await park(service, db, WARM);
  const warm = await release(service, db, { many: WARM, parts: parts() });
  addRow('idle, none parked', await measure(parts()));
  const began = performance.now();
  await park(service, db, COUNT);
  const parked = performance.now() - began;
  addRow(`${COUNT} parked`, await measure(parts()));
  const stopping = performance.now();
  await service.stop();
  const stopped = performance.now();
  service = await startService(distDir, servers.dataDir, env);
  const started = performance.now();
  addRow('the same, service started again', await measure(parts()));
  const cold = await release(service, db, { many: RELEASED, parts: parts() });
  const again = await release(service, db, { many: RELEASED, parts: parts() });
  process.stdout.write(`| | ${Object.keys(parts()).join(' | ')} | in all |\n|---|---|---|---|---|\n`);
  for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`);
  const s = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  process.stdout.write(
    `\n${COUNT} runs parked in ${s(parked)}; the service stopped in ${s(stopped - stopping)} and started in ${s(started - stopped)}. ` +
      `${RELEASED} released at once had completed after ${s(cold.ms)} and ${s(again.ms)} (without the rest parked: ${s(warm.ms)}); CPU a run in ms: ${again.cpu}.\n`,
  );
}

const closers: (() => unknown)[] = [];
try {
  const servers = await startServers();
  closers.push(() => servers.stop());
  await main(servers, closers);
} finally {
  for (const close of closers.reverse()) await close();
}
