import { setTimeout as wait } from 'node:timers/promises';
import { distDir } from '../src/platform/db/index.js';
import { cpuMs } from './processes.js';
import { startServers } from './servers.js';
import { FILES, type Service, startService } from './service.js';

/** Sign-ins a second, and for how long. */
const RATE = 50;
const SECONDS = 20;
/** What people do meanwhile: each of these ten times a second. */
const ROUTES = ['/api/me', '/api/workspaces', '/api/workspaces/bench', '/api/workspaces/bench/runs'];

const rows: (readonly string[])[] = [];

function percentile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const three = (times: readonly number[]): string =>
  [0.5, 0.95, 0.99].map((share) => ms(percentile(times, share))).join(' / ');

/** Starts `work` so often a second whether or not the ones before have ended, as independent people do; ends with the last. */
async function steadily(rate: number, seconds: number, work: (n: number) => Promise<void>): Promise<void> {
  const began = performance.now();
  const all: Promise<void>[] = [];
  for (let n = 0; n < rate * seconds; n += 1) {
    const due = began + (n * 1_000) / rate;
    if (due > performance.now()) await wait(due - performance.now());
    all.push(work(n));
  }
  await Promise.all(all);
}

type LogIn = (n: number) => { readonly email: string; readonly address: string };

async function measure(title: string, service: Service, logIn: LogIn | null): Promise<void> {
  const others: number[] = [];
  const logins: number[] = [];
  const statuses = new Map<number, number>();
  const headers = { authorization: `Bearer ${service.key}` };
  let refused = 0;
  const before = cpuMs([service.pid]);
  const began = performance.now();
  const floods = logIn
    ? steadily(RATE, SECONDS, async (n) => {
        const { email, address } = logIn(n);
        const since = performance.now();
        const response = await fetch(`${service.url}/api/auth/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
          body: JSON.stringify({ email, password: 'not the password' }),
        });
        await response.arrayBuffer();
        logins.push(performance.now() - since);
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      })
    : Promise.resolve();
  await steadily(10 * ROUTES.length, SECONDS, async (n) => {
    const since = performance.now();
    const response = await fetch(service.url + (ROUTES[n % ROUTES.length] ?? ''), { headers });
    await response.arrayBuffer();
    others.push(performance.now() - since);
    if (!response.ok) refused += 1;
  });
  await floods;
  const cpu = ((cpuMs([service.pid]) - before) / (performance.now() - began)) * 100;
  const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
  rows.push([
    title,
    `${three(others)}${refused > 0 ? `; ${refused} × 503` : ''}`,
    logIn ? three(logins) : '',
    answers.join(', '),
    `${cpu.toFixed(0)} %`,
  ]);
  process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
}

const closers: (() => unknown)[] = [];
async function close(): Promise<void> {
  for (const end of closers.splice(0).reverse()) await end();
}
// The service is in a session of its own, where the terminal's Ctrl-C does not reach it.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void close().then(() => process.exit(1)));
try {
  const servers = await startServers();
  closers.push(() => servers.stop());
  const service = await startService(distDir, servers.dataDir, { ...servers.env, SERVICE_TRUST_PROXY: '1' }, true);
  closers.push(() => service.stop());
  await service.call('/api/workspaces', { name: 'bench', files: FILES });
  await measure('warming up', service, null);
  rows.length = 0;
  await measure('no sign-ins', service, null);
  await measure('one caller, one account', service, () => ({ email: 'owner@localhost', address: '192.0.2.1' }));
  const spread = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
  await measure('one account, every caller another', service, (n) => ({ email: 'a@one.test', address: spread(n) }));
  await measure('every caller and every account another', service, (n) => ({
    email: `unknown-${n}@else.test`,
    address: spread(n + 65_536),
  }));
  process.stdout.write(
    `${RATE} sign-ins a second for ${SECONDS} s; p50 / p95 / p99\n\n` +
      '| sign-ins | other routes | sign-ins | answers | CPU of the service |\n|---|---|---|---|---|\n',
  );
  for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`);
} finally {
  await close();
}
