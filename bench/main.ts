import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { distDir, packageRoot } from '../src/platform/db/index.js';
import { cpuMs, forkReady, memoryMb } from './processes.js';
import { startServers } from './servers.js';
import { FILES, type Service, startService } from './service.js';

const rows: (readonly [figure: string, value: string, reference: string])[] = [];

function percentile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function sequence(count: number, work: (n: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const began = performance.now();
    await work(n);
    times.push(performance.now() - began);
  }
  return times;
}

async function crowd(count: number, width: number, work: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) {
        next += 1;
        await work(next);
      }
    }),
  );
  return performance.now() - began;
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

interface Measured {
  readonly p50: number;
  readonly p95: number;
  readonly cpu: number;
  readonly perSecond: number;
  readonly crowdCpu: number;
}

/** 100 in sequence after a warm-up, then 500 at 50 at a time: latency, CPU a run, runs a second. */
async function measure(pids: readonly number[], work: (n: number) => Promise<unknown>): Promise<Measured> {
  await sequence(20, work);
  const before = cpuMs(pids);
  const times = await sequence(100, work);
  const between = cpuMs(pids);
  const took = await crowd(500, 50, work);
  return {
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
    cpu: (between - before) / 100,
    perSecond: 500_000 / took,
    crowdCpu: (cpuMs(pids) - between) / 500,
  };
}

function addRows(ours: Measured, bare: Measured): void {
  const ratio = (a: number, b: number): string => `${(a / b).toFixed(2)} ×`;
  rows.push(
    ['three steps, model 0 ms: p50', ms(ours.p50), `${ms(bare.p50)}; ${ratio(ours.p50, bare.p50)}`],
    ['the same: p95', ms(ours.p95), `${ms(bare.p95)}; ${ratio(ours.p95, bare.p95)}`],
    ['CPU a run, one at a time', ms(ours.cpu), `${ms(bare.cpu)}; ${ratio(ours.cpu, bare.cpu)}`],
    [
      '500 at 50 at a time: runs a second',
      ours.perSecond.toFixed(0),
      `${bare.perSecond.toFixed(0)}; ${ratio(ours.perSecond, bare.perSecond)}`,
    ],
    ['CPU a run in the crowd', ms(ours.crowdCpu), `${ms(bare.crowdCpu)}; ${ratio(ours.crowdCpu, bare.crowdCpu)}`],
  );
}

async function longer(service: Service, bare: (count: number) => Promise<unknown>): Promise<void> {
  const three = percentile(await sequence(30, () => service.run('steps-3')), 0.5);
  const ten = percentile(await sequence(30, () => service.run('steps-10')), 0.5);
  const fifty = percentile(await sequence(15, () => service.run('steps-50')), 0.5);
  const bareFifty = percentile(await sequence(5, () => bare(50)), 0.5);
  rows.push(
    ['each further step (3 to 10)', ms((ten - three) / 7), ''],
    ['50 steps: p50', ms(fifty), `${ms(bareFifty)}; ${(fifty / bareFifty).toFixed(2)} ×`],
  );
}

/** From the answer of an approval to the next step's model call reaching the provider. */
async function release(service: Service, arrivals: Map<string, number>): Promise<void> {
  const gaps: number[] = [];
  for (let n = 0; n < 30; n += 1) {
    const marker = `r${n}`;
    const { runId } = await service.call('/api/workspaces/bench/flows/gate/run', { task: marker });
    const at = `/api/workspaces/bench/runs/${runId}`;
    while ((await service.call(at)).status !== 'awaiting-approval') await wait(10);
    await service.call(`${at}/approve`, { decision: 'approve' });
    const answered = Date.now();
    while (!arrivals.has(marker)) await wait(2);
    gaps.push((arrivals.get(marker) ?? 0) - answered);
  }
  rows.push(['approve answered to the next model call: p50', ms(percentile(gaps, 0.5)), '']);
}

/** What was started, to be ended in reverse whatever happens. */
const closers: (() => unknown)[] = [];

async function main(): Promise<void> {
  const servers = await startServers();
  closers.push(() => servers.stop());
  const pids = Object.values(servers.parts).flat();
  const mock = await forkReady(join(distDir, 'bench/mock-provider.js'));
  closers.push(() => mock.child.disconnect());
  const provider = `http://127.0.0.1:${mock.word.port}/v1`;
  const arrivals = new Map<string, number>();
  mock.child.on('message', (message: { marker?: string; began: number }) => {
    if (message.marker) arrivals.set(message.marker, message.began);
  });
  const began = performance.now();
  const service = await startService(distDir, servers.dataDir, {
    ...servers.env,
    SERVICE_LLM_BASE_URL: provider,
    SERVICE_LLM_MODEL: 'mock',
  });
  closers.push(() => service.stop());
  await service.call('/api/workspaces', { name: 'bench', files: FILES });
  await service.run('steps-3');
  rows.push(['service start to the first completed run, servers up', ms(performance.now() - began), '']);
  await wait(3_000);
  rows.push([
    'idle memory of service, Temporal and Postgres (PSS)',
    `${memoryMb([service.pid, ...pids]).toFixed(0)} MB`,
    '',
  ]);

  const reference = await forkReady(join(distDir, 'bench/reference/worker.js'), [
    servers.temporal.address,
    servers.temporal.namespace,
    provider,
    join(packageRoot, 'bench/reference/workflows.ts'),
  ]);
  const client = new Client({
    connection: await Connection.connect({ address: servers.temporal.address }),
    namespace: servers.temporal.namespace,
  });
  let serial = 0;
  const bare = (count: number): Promise<unknown> => {
    serial += 1;
    return client.workflow.execute('steps', {
      taskQueue: 'bench-reference',
      workflowId: `ref-${serial}`,
      args: [`k${serial}`, count],
    });
  };
  closers.push(
    () => reference.child.send('end'),
    () => client.connection.close(),
  );
  const bareFigures = await measure([reference.child.pid ?? 0, ...pids], () => bare(3));
  const ours = await measure([service.pid, ...pids], () => service.run('steps-3'));
  addRows(ours, bareFigures);
  await longer(service, bare);
  await release(service, arrivals);
  mock.child.send({ delayMs: 200 });
  const slow = percentile(await sequence(20, () => service.run('steps-3')), 0.5);
  rows.push(['over the model’s own 600 ms (3 × 200)', ms(slow - 600), '']);
}

function print(): void {
  process.stdout.write('| figure | Signalbox | bare Temporal, an activity a step; ratio |\n|---|---|---|\n');
  for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`);
}

try {
  await main();
  print();
} finally {
  for (const close of closers.reverse()) await close();
}
