import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Failpoint } from '../../src/shared/failpoint.js';
import { CASES } from '../support/options/index.js';
import { type OptionModel, startOptionModel } from '../support/options/model.js';
import { startAll, untilAllStand, untilDead, untilEnded } from '../support/options/phases.js';
import type { NamedCase } from '../support/options/row.js';
import { type CaseRun, type OptionService, RUNNING_CASES, startOptionService } from '../support/options/service.js';

/** An installation with a model of its own, so that what is held or killed in it touches no other. */
interface Stage {
  readonly model: OptionModel;
  readonly service: OptionService;
}

interface Found {
  readonly run: CaseRun;
  readonly stage: Stage;
}
type Runs = Map<string, Found>;

/** Each case's run in peace, the one that was killed where it stood, and the one that was killed after a write. */
const peace: Runs = new Map();
const killed: Runs = new Map();
const cut: Runs = new Map();

const POINTS = [...new Set(RUNNING_CASES.flatMap(({ option }) => option.killedAfter ?? []))];
/** In each installation one worker dies after the other: they wait for that more than they work. */
const LANES = 2;

const stages: Stage[] = [];
let first: Stage;
beforeAll(async () => {
  first = await createStage();
  await timed('in peace', inPeace(first));
  await Promise.all([
    timed('killed in it', killedInIt(first)),
    ...Array.from({ length: LANES }, (_, lane) =>
      timed(
        `killed after writes, ${lane + 1}`,
        createStage().then((stage) =>
          killedAfterWrites(
            stage,
            POINTS.filter((_point, index) => index % LANES === lane),
          ),
        ),
      ),
    ),
  ]);
}, 900_000);
afterAll(async () => {
  for (const { service, model } of stages) {
    await service.close();
    await model.close();
  }
});

async function createStage(): Promise<Stage> {
  const model = await startOptionModel();
  const stage = { model, service: await startOptionService(model) };
  stages.push(stage);
  return stage;
}

async function timed(name: string, work: Promise<void>): Promise<void> {
  const began = Date.now();
  const failed = await work.then(
    () => null,
    (error: Error) => error,
  );
  // Told at once: what a hook says is told when all files have ended.
  console.log(`${name}: ${Date.now() - began} ms${failed ? `, ${failed.message}` : ''}`);
  if (failed) throw failed;
}

const secondOf = (name: string): string => `${name}, the second run`;

function keep(into: Runs, stage: Stage, runs: readonly CaseRun[]): void {
  for (const run of runs) into.set(run.isSecond ? secondOf(run.entry.name) : run.entry.name, { run, stage });
}

async function inPeace(stage: Stage): Promise<void> {
  const { service } = stage;
  const worker = await service.startWorker();
  const runs = await startAll(service);
  keep(peace, stage, runs);
  await untilEnded(service, runs);
  await worker.end('SIGTERM');
}

/** All at once: when each run stands in its option the one worker is killed, and another goes on. */
async function killedInIt(stage: Stage): Promise<void> {
  const { model, service } = stage;
  const isShort = ({ option }: NamedCase) => option.isShort === true;
  model.hold(true);
  const worker = await service.startWorker();
  const long = await startAll(
    service,
    RUNNING_CASES.filter((entry) => !isShort(entry)),
  );
  await untilAllStand(service, model, long);
  const short = await startAll(service, RUNNING_CASES.filter(isShort));
  const runs = [...long, ...short];
  keep(killed, stage, runs);
  await untilAllStand(service, model, short);
  await worker.end('SIGKILL');
  for (const run of runs) run.recorded = await service.recordedCalls(run);
  model.hold(false);
  const next = await service.startWorker();
  await untilEnded(service, runs);
  await next.end('SIGTERM');
}

/**
 * For each write after which somebody dies, the runs that are to die there and a worker that does. They end before the
 * next ones are started: with every worker that dies, whatever else is at work with it dies too, and three times in one
 * model call is once too often.
 */
async function killedAfterWrites(stage: Stage, points: readonly Failpoint[]): Promise<void> {
  const { service } = stage;
  for (const point of points) {
    const mortal = await service.startWorker({ SERVICE_FAILPOINT: point });
    const runs = await startAll(
      service,
      RUNNING_CASES.filter(({ option }) => option.killedAfter === point),
    );
    keep(cut, stage, runs);
    await untilDead(service, mortal, runs);
    await service.reportDeaths();
    const next = await service.startWorker();
    await untilEnded(service, runs);
    await next.end('SIGTERM');
  }
}

/** The case's run, and its second one, came out as the case says, with no call that was recorded at a kill made again. */
async function expectCase(runs: Runs, { name, option }: NamedCase): Promise<void> {
  const [found, second] = [runs.get(name), runs.get(secondOf(name))];
  if (!found || (option.second?.shows && !second)) throw new Error('it was not run');
  for (const one of second ? [found, second] : [found]) await expectShown(one);
  const { run, stage } = found;
  option.holds?.(await stage.service.view(run), await stage.service.callsOf(run));
  const now = stage.model.byKey();
  expect(run.recorded.filter(([key, count]) => now.get(key) !== count)).toEqual([]);
}

async function expectShown({ run, stage: { service } }: Found): Promise<void> {
  const view = await service.view(run);
  const { shows } = run;
  // As many steps as the case tells of: of the rest it says nothing.
  const steps = 'steps' in shows ? (shows.steps as object[]) : [];
  const fails = (shows as { status?: string }).status === 'failed';
  const said = { ...(fails ? {} : { error: null }), ...shows, steps };
  expect({ ...view, steps: view.steps.slice(0, steps.length) }).toMatchObject(said);
  expect(await service.faults(run)).toEqual([]);
}

const named = (cases: readonly NamedCase[]) => cases.map((entry) => [entry.row.of, entry.name, entry] as const);

test.each(named(RUNNING_CASES))('%s option `%s` works', async (_of, _name, entry) => {
  await expectCase(peace, entry);
});

test.each(named(CASES.filter(({ option }) => option.refuses)))(
  '%s option `%s` refuses a start that does not fit, whether a worker is there or not',
  async (_of, _name, entry) => {
    const { body, status, says } = entry.option.refuses ?? { body: {}, status: 0, says: '' };
    const { service } = first;
    const path = `/api/workspaces/${await service.workspaceOf(entry)}/flows/it/run`;
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const answer = await service.api.request(path, init);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(says)]);
  },
);

test.each(named(RUNNING_CASES))(
  '%s option `%s` survives kill -9 in it, and no recorded model call is made twice',
  async (_of, _name, entry) => {
    await expectCase(killed, entry);
  },
);

test.each(named(RUNNING_CASES.filter(({ option }) => option.killedAfter)))(
  '%s option `%s` survives kill -9 right after a write',
  async (_of, _name, entry) => {
    await expectCase(cut, entry);
  },
);
