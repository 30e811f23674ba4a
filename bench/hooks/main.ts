import { mkdtempSync } from 'node:fs';
import { constants, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { distDir } from '../../src/platform/db/index.js';
import { type ActorName, type Cast, processesOf, removeFolder, startCast } from '../chaos/cast.js';
import { askDoctor } from '../chaos/doctor.js';
import { cpuMs, forkReady } from '../processes.js';
import { type Options, readOptions } from './options.js';
import { idsOf, Sender, steadily } from './sender.js';
import { judge } from './verdict.js';

/** How long runs may take to end once the last delivery is answered: a dead worker's lanes wait for their heartbeat. */
const CALM_MS = 180_000;
const BURSTS_A_MINUTE = 60;
const BURST_KEYS = 3;

const flow = (keys: string): string => `---\ndescription: Of the bench.\n${keys}---\n\n## Do it @worker\n\nDo it.\n`;
const FILES = [
  { path: 'agents/worker.md', content: '---\ndescription: Works.\n---\n\nYou work.\n' },
  { path: 'flows/hook.md', content: flow('trigger: webhook\n') },
  { path: 'flows/burst.md', content: flow('trigger: webhook\ndedupe: body.order\ndebounce: 2s\n') },
  { path: 'flows/tick.md', content: flow('trigger: schedule\ncron: "* * * * *"\ncatch_up: all\noverlap: allow\n') },
];

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(options: Options): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-hooks-'));
  let cast: Cast | null = null;
  endOnSignal(folder, () => cast);
  const mock = await forkReady(join(distDir, 'bench/mock-provider.js'));
  try {
    cast = await startCast(folder, `http://127.0.0.1:${mock.word.port}/v1`, true);
    return await perform(cast, options);
  } finally {
    await cast?.close();
    mock.child.disconnect();
    const left = processesOf(folder);
    removeFolder(folder);
    if (left.length > 0) {
      say(`left behind: processes ${left.join(', ')}`);
      process.exitCode = 1;
    }
  }
}

async function perform(cast: Cast, { seconds, rate }: Options): Promise<number> {
  const [hookUrl, burstUrl] = await makeWorkspace(cast);
  const hooks = new Sender(hookUrl);
  const bursts = new Sender(burstUrl);
  const load = loadavg()[0] ?? 0;
  const from = Date.now();
  const ids = idsOf(Math.round((rate * seconds) / 60));
  const kills: Kill[] = [];
  let cpu = -apiCpu(cast);
  await Promise.all([
    steadily({ rate, count: ids.length }, (n) => hooks.send(ids[n] ?? '', { n, order: `o-${n}` })),
    steadily({ rate: BURSTS_A_MINUTE, count: Math.round((BURSTS_A_MINUTE * seconds) / 60) }, (n) =>
      bursts.send(`b-${n}`, { n, order: n % BURST_KEYS }),
    ),
    killInTime(cast, seconds * 1_000, (actor) => {
      if (actor === 'api') cpu += apiCpu(cast);
      kills.push({ actor, at: performance.now() });
    }),
  ]);
  cpu += apiCpu(cast);
  const answered = Date.now();
  const open = await untilQuiet(cast, answered + CALM_MS);
  const calm = Date.now() - answered;
  const faults = [...open, ...(await judge({ db: cast.db, hooks, bursts, from, to: answered }))];
  const doctor = await askDoctor(cast.env);
  if (doctor.code !== 0) faults.push(`the doctor says:\n${doctor.output}`);
  printFigures({ ids, hooks, bursts, kills, calm, load, cpu });
  say(faults.length === 0 ? 'nothing was lost, doubled or stuck' : `${faults.length} faults:`);
  for (const fault of faults.slice(0, 40)) say(`  ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

/** Answers where the hook and the bursts are posted to. */
async function makeWorkspace({ url, key }: Cast): Promise<readonly [string, string]> {
  const headers = { authorization: `Bearer ${key()}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'bench', files: FILES });
  const made = await fetch(`${url}/api/workspaces`, { method: 'POST', headers, body });
  if (made.status !== 201) throw new Error(`no workspace: ${made.status} ${await made.text()}`);
  const addressOf = async (name: string): Promise<string> => {
    const shown = await fetch(`${url}/api/workspaces/bench/flows/${name}`, { headers });
    const { pathname, search } = new URL(((await shown.json()) as { hookUrl: string }).hookUrl);
    return url + pathname + search;
  };
  return [await addressOf('hook'), await addressOf('burst')];
}

const apiCpu = (cast: Cast): number => cpuMs([cast.pid('api') ?? 0]);

/** kill -9 of the API after a third of the time, of a worker after another third; both are started again. */
async function killInTime(cast: Cast, lengthMs: number, onKill: (actor: ActorName) => void): Promise<void> {
  for (const actor of ['api', 'worker-1'] as const) {
    await wait(lengthMs / 3);
    const pid = cast.pid(actor);
    if (pid === null) throw new Error(`${actor} went down unexpectedly`);
    onKill(actor);
    process.kill(pid, 'SIGKILL');
  }
}

/** Until no run is live and nothing waits to be begun. */
async function untilQuiet(cast: Cast, until: number): Promise<string[]> {
  for (;;) {
    const open = await cast.db.query<{ what: string }>(
      `SELECT format('run %s is %s', id, status) AS what FROM run WHERE finished_at IS NULL
        UNION ALL SELECT format('burst %s is not begun', key) FROM burst`,
    );
    if (open.length === 0) return [];
    if (Date.now() > until) return open.map(({ what }) => what);
    await wait(200);
  }
}

interface Kill {
  readonly actor: ActorName;
  /** By `performance.now()`. */
  readonly at: number;
}

interface BenchResult {
  readonly ids: readonly string[];
  readonly hooks: Sender;
  readonly bursts: Sender;
  readonly kills: readonly Kill[];
  readonly calm: number;
  readonly load: number;
  /** Of the API, its new start included, in ms. */
  readonly cpu: number;
}

function printFigures({ ids, hooks, bursts, kills, calm, load, cpu }: BenchResult): void {
  const at = (share: number, of: 'ms' | 'wholeMs', until = Number.POSITIVE_INFINITY): string => {
    const meant = hooks.answers.filter((answer) => answer.at + answer.wholeMs < until);
    const sorted = meant.map((answer) => answer[of]).sort((a, b) => a - b);
    return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0)} ms`;
  };
  const three = (until?: number): string => [0.5, 0.95, 0.99].map((share) => at(share, 'ms', until)).join(' / ');
  const distinct = new Set(ids).size;
  const rows = [
    ['deliveries', `${ids.length}, of which ${ids.length - distinct} are sent again`],
    ['killed with kill -9, and started again', kills.map(({ actor }) => actor).join(', ')],
    ['answer: p50 / p95 / p99', three()],
    ['the same until the first kill', three(kills[0]?.at)],
    ['requests without an answer, sent again', String(hooks.broken + bursts.broken)],
    ['requests answered with "try again later", sent again', String(hooks.postponed + bursts.postponed)],
    ['longest from the first request to the answer', at(1, 'wholeMs')],
    ['bursts beside them', `${bursts.answers.length} deliveries`],
    ['from the last answer to the last run’s end', `${(calm / 1_000).toFixed(1)} s`],
    ['CPU of the API, its new start included', `${(cpu / 1_000).toFixed(1)} s`],
    ['load of the machine, before and after', `${load.toFixed(1)}, ${(loadavg()[0] ?? 0).toFixed(1)}`],
  ];
  say('| figure | |\n|---|---|');
  for (const row of rows) say(`| ${row.join(' | ')} |`);
}

/** Ends everything at once: nothing of it is worth keeping. */
function endOnSignal(folder: string, cast: () => Cast | null): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      cast()?.killNow();
      removeFolder(folder);
      process.exit(128 + constants.signals[signal]);
    });
  }
}

try {
  const code = await main(readOptions(process.argv.slice(2)));
  process.exit(process.exitCode ?? code);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(2);
}
