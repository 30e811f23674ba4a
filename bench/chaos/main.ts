import { cpSync, mkdtempSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type FakeProvider, startFakeProvider } from '../../test/support/fake-provider.js';
import { type Cast, processesOf, removeFolder, startCast } from './cast.js';
import { Client, type Order } from './client.js';
import { askDoctor } from './doctor.js';
import { answerOf, FLOW_NAMES } from './flows.js';
import { storm, strikesText } from './monkey.js';
import { type Options, readOptions } from './options.js';
import { Random } from './random.js';
import { judge, type Verdict } from './verdict.js';

/** How long runs may take to end once the storm is over: a paused worker's lanes wait for their heartbeat. */
const CALM_MS = 240_000;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Stage {
  readonly folder: string;
  readonly provider: FakeProvider;
  readonly cast: Cast;
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  say(
    `chaos: seed ${options.seed}, ${options.runs} runs over ${options.minutes} min (again: npm run chaos -- --seed ${options.seed} --minutes ${options.minutes} --runs ${options.runs})`,
  );
  const random = new Random(options.seed);
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-chaos-'));
  let cast: Cast | null = null;
  endOnSignal(folder, () => cast);
  const provider = await startFakeProvider((call) => answerOf(call, random.between(40, 400)));
  try {
    cast = await startCast(folder, provider.url);
    const faults = await perform({ folder, provider, cast }, options, random);
    if (faults.length > 0) keepLogs(folder, options.seed);
    return faults.length === 0 ? 0 : 1;
  } finally {
    await cast?.close();
    await provider.close();
    const left = processesOf(folder);
    removeFolder(folder);
    if (left.length > 0) {
      say(`left behind: processes ${left.join(', ')}`);
      process.exitCode = 1;
    }
  }
}

/** The storm, the calm after it, and what came of both. Answers what is wrong. */
async function perform(
  { folder, provider, cast }: Stage,
  options: Options,
  random: Random,
): Promise<readonly string[]> {
  const client = new Client(cast, random);
  await client.makeWorkspace();
  const orders = Array.from({ length: options.runs }, (_, index): Order => {
    return {
      flow: index < FLOW_NAMES.length ? (FLOW_NAMES[index] ?? 'plain') : random.pick(FLOW_NAMES),
      tag: `t-${index}`,
    };
  });
  const lengthMs = options.minutes * 60_000;
  const began = Date.now();
  const deciding = client.decideAll();
  const starting = Promise.all(
    orders.map(async (order, index) => {
      await wait((lengthMs * 0.8 * index) / orders.length);
      await client.start(order);
    }),
  );
  const strikes = await storm(cast, random, began + lengthMs);
  say(`the storm is over after ${seconds(began)}: ${strikesText(strikes)}`);
  const calm = Date.now();
  const started = await within(starting, CALM_MS);
  const open = started ? await untilEnded(cast, calm + CALM_MS) : ['not all runs could be started'];
  client.end();
  await deciding;
  say(`the runs ended ${seconds(calm)} after it`);
  const dataDir = join(folder, 'data');
  const verdict = await judge({ db: cast.db, dataDir, orders, calls: provider.byKey(), decided: client.decided });
  const doctor = await askDoctor(cast.env);
  const faults = [...open, ...verdict.faults, ...(doctor.code === 0 ? [] : [`the doctor says:\n${doctor.output}`])];
  printVerdict(verdict, client, faults);
  return faults;
}

async function untilEnded(cast: Cast, until: number): Promise<string[]> {
  for (;;) {
    const open = await cast.db
      .query<{ id: string; flow: string; status: string }>('SELECT id, flow, status FROM run WHERE finished_at IS NULL')
      .catch(() => null);
    if (open?.length === 0) return [];
    if (Date.now() > until)
      return (open ?? []).map(({ id, flow, status }) => `run ${id} of ${flow} did not end: ${status}`);
    await wait(200);
  }
}

function printVerdict({ counts }: Verdict, client: Client, faults: readonly string[]): void {
  const { model, effects, runs } = counts;
  say(
    `runs: ${Object.entries(runs)
      .map(([how, count]) => `${count} ${how}`)
      .join(', ')}`,
  );
  say(`decisions: ${client.decided.size} answered with a yes`);
  say(
    `model calls: ${model.made} made, ${model.recorded} recorded, ${model.estimated} booked by estimate, ${model.twice} recorded ones made twice`,
  );
  say(`effects: ${effects.recorded} recorded, ${effects.interrupted} interrupted`);
  say(faults.length === 0 ? 'nothing was lost, doubled or stuck' : `${faults.length} faults:`);
  for (const fault of faults.slice(0, 40)) say(`  ${fault}`);
}

function keepLogs(folder: string, seed: number): void {
  const kept = mkdtempSync(join(tmpdir(), `signalbox-chaos-logs-${seed}-`));
  cpSync(join(folder, 'logs'), kept, { recursive: true });
  say(`the logs of the processes are kept in ${kept}`);
}

const seconds = (since: number): string => `${((Date.now() - since) / 1_000).toFixed(1)} s`;

async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  return Promise.race([work.then(() => true), wait(ms, false, { ref: false })]);
}

/** Ends everything at once: nothing of a storm is worth keeping. */
function endOnSignal(folder: string, cast: () => Cast | null): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      cast()?.killNow();
      for (const pid of processesOf(folder)) process.kill(Number(pid), 'SIGKILL');
      removeFolder(folder);
      process.exit(128 + constants.signals[signal]);
    });
  }
}

try {
  const code = await main();
  process.exit(process.exitCode ?? code);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(2);
}
