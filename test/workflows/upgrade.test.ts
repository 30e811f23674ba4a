import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { distDir } from '../../src/platform/db/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { decideGates } from '../support/drive-gates.js';
import { flow, scripted } from '../support/flows.js';
import { closedHistoriesOf, historiesOf, ownTemporal } from '../support/own-temporal.js';
import { releaseBundle } from '../support/release-bundle.js';

/** Low, so that executions begin anew in the middle of an upgrade too. */
const LIMITS = { 'limit.historyCount.suggestContinueAsNew': 60 };
const mine = join(distDir, 'workflows.js');

let temporal: Awaited<ReturnType<typeof ownTemporal>>;
let last: string;
let app: EngineApp;
beforeAll(async () => {
  [temporal, last] = await Promise.all([ownTemporal(LIMITS), releaseBundle('0.1.0')]);
  app = await createEngineApp({ temporal: temporal.at, build: { bundlePath: last } });
});
afterAll(async () => {
  await rm(dirname(last), { recursive: true });
  await temporal.close();
});

const branch = (name: string) =>
  `### ${name}\n\n- approve: human\n- on_reject: ${name.toLowerCase()}\n- max_rounds: 30\n\nOK?`;
const AFTER = '\n\n## After @worker\n\nGo.';
const FLOWS: Readonly<Record<string, string>> = {
  gate: `## Gate\n\n- approve: human\n\nOK?${AFTER}`,
  event: `## Ask @worker\n\n- wait: event\n\nAsk.${AFTER}`,
  timer: `## Wait\n\n- wait: 20s${AFTER}`,
  retry: '## After @worker\n\n- retry: { max: 2, wait: 20s }\n\nFail once.',
  fork: `## Both\n\n${branch('Left')}\n\n${branch('Right')}${AFTER}`,
  any: `## Race\n\n- join: any\n\n${branch('Left')}\n\n${branch('Right')}${AFTER}`,
  subflow: `## Call\n\n- subflow: gate${AFTER}`,
  loop: `## Draft @worker\n\nA.\n\n## Gate\n\n- approve: human\n- on_reject: draft\n- max_rounds: 60\n\nOK?${AFTER}`,
};
const SCRIPT = '- { when: { step: after, attempt: 1, contains: "Fail once" }, error: refused }\n- { text: done }\n';

const isParked = (run: RunView) =>
  run.waiting.length > 0 || run.steps.some((step) => step.trace.some((line) => line.kind === 'step.retrying'));

/** One run of each flow, standing at its stop. */
async function parkAll() {
  const files = Object.fromEntries(Object.entries(FLOWS).map(([name, text]) => [`flows/${name}.md`, flow(text)]));
  const workspace = await app.workspace({ ...scripted(SCRIPT), ...files });
  const runs = await Promise.all(
    Object.keys(FLOWS).map(async (name) => ({ workspace, name, id: await app.start(workspace, name) })),
  );
  await Promise.all(runs.map(({ id }) => app.until(workspace, id, isParked)));
  return runs;
}
type Parked = Awaited<ReturnType<typeof parkAll>>[number];

/** Lets a run go on to its end: rejects the gates of `loop` and of the branches as often as told, approves all else. */
async function finish({ workspace, name, id }: Parked, rounds: number): Promise<void> {
  const view = await app.run(workspace, id);
  const [wait] = view.waiting;
  if (name === 'event') {
    const url = new URL(wait?.releaseUrl ?? '');
    expect((await app.post(url.pathname + url.search, {}, { as: null })).status).toBe(200);
  }
  const gated = name === 'subflow' ? (wait?.runId ?? '') : id;
  const again = name === 'loop' || name === 'fork' || name === 'any';
  await decideGates(app, { workspace, id: gated }, (round) => (again && round < rounds ? 'reject' : 'approve'));
  const run = await app.ended(workspace, id);
  expect([name, run.status, run.error]).toEqual([name, 'completed', null]);
  await expect.poll(() => app.deps.workflows.describeRun(id)).toBe('closed');
}

test('security 6: runs that the last release parked are finished by this build', async () => {
  await app.restartWorker({ bundlePath: last });
  const runs = await parkAll();
  const loop = runs.find(({ name }) => name === 'loop');
  if (!loop) throw new Error('no loop');
  // Some of its rounds under the last release, the others under this one.
  const isFar = (run: RunView) => run.steps[1]?.round === 8 && run.waiting.length > 0;
  await decideGates(app, { ...loop, isFar }, (round) => (round < 8 ? 'reject' : null));
  await app.restartWorker({ bundlePath: mine });
  await Promise.all(runs.map((run) => finish(run, 20)));
  for (const { id, name } of runs)
    for (const history of await closedHistoriesOf(temporal.client, id))
      await expect(Worker.runReplayHistory({ workflowBundle: { codePath: mine } }, history, id), name).resolves.toBe(
        undefined,
      );
});

test('security 6: while a worker of the last release lives, it can replay and finish what this build has begun', async () => {
  await app.restartWorker({ bundlePath: mine, isOnlyBuild: () => false });
  const runs = await parkAll();
  const loop = runs.find(({ name }) => name === 'loop');
  if (!loop) throw new Error('no loop');
  const isFar = (run: RunView) => run.steps[1]?.round === 14 && run.waiting.length > 0;
  await decideGates(app, { ...loop, isFar }, (round) => (round < 14 ? 'reject' : null));
  const begun = await historiesOf(temporal.client, loop.id);
  expect(begun.length).toBeGreaterThan(1);
  await app.restartWorker({ bundlePath: last });
  await Promise.all(runs.map((run) => finish(run, 18)));
  for (const { id, name } of runs)
    for (const history of await closedHistoriesOf(temporal.client, id))
      await expect(Worker.runReplayHistory({ workflowBundle: { codePath: last } }, history, id), name).resolves.toBe(
        undefined,
      );
});

test('alone, this build does take up what the last release could not replay', async () => {
  await app.restartWorker({ bundlePath: mine, startsLocally: false });
  const workspace = await app.workspace({ ...scripted(SCRIPT), 'flows/fork.md': flow(FLOWS.fork ?? '') });
  const id = await app.start(workspace, 'fork');
  await decideGates(app, { workspace, id }, (round) => (round < 20 ? 'reject' : 'approve'));
  await expect.poll(() => app.deps.workflows.describeRun(id)).toBe('closed');
  const [first] = await historiesOf(temporal.client, id);
  const replay = Worker.runReplayHistory({ workflowBundle: { codePath: last } }, first, id);
  await expect(replay).rejects.toThrow(/nondeterminism/i);
});

test('security 6: a worker of the last release that takes the first task of a run with a local advance fails it, and the run waits for this build', async () => {
  await app.restartWorker({ bundlePath: last, startsLocally: true });
  const workspace = await app.workspace({ ...scripted(SCRIPT), 'flows/gate.md': flow(FLOWS.gate ?? '') });
  const id = await app.start(workspace, 'gate');
  const failures = async () => {
    const events = (await historiesOf(temporal.client, id)).flatMap((history) => history.events ?? []);
    return events.filter((event) => event.workflowTaskFailedEventAttributes).length;
  };
  await expect.poll(failures).toBeGreaterThan(0);
  await app.restartWorker({ bundlePath: mine });
  await finish({ workspace, name: 'gate', id }, 1);
});
