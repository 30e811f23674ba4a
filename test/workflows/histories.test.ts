import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { distDir } from '../../src/db/index.js';
import type { RunView } from '../../src/runs/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { decideGates } from '../support/drive-gates.js';
import { flow, scripted } from '../support/flows.js';
import { historiesOf, ownTemporal } from '../support/own-temporal.js';

/** Set to a release's name, the histories of this build are written to test/replay/histories/<name>/. */
const RECORD = process.env.RECORD_HISTORIES ?? '';

/** Histories of 60 events are long, so that a short one shows what a long one does. */
const LIMITS = { 'limit.historyCount.suggestContinueAsNew': 60 };

let temporal: Awaited<ReturnType<typeof ownTemporal>>;
let app: EngineApp;
beforeAll(async () => {
  temporal = await ownTemporal(LIMITS);
  app = await createEngineApp({ temporal: temporal.at });
});
afterAll(() => temporal.close());

const FLOWS: Readonly<Record<string, string>> = {
  steps: flow('## One @worker\n\nA.\n\n## Two @worker\n\nB.'),
  gate: flow('## Gate\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nB.'),
  'gate-timeout': flow(
    '## Gate\n\n- approve: human\n- timeout: 1s\n- on_timeout: continue\n\nOK?\n\n## Two @worker\n\nB.',
  ),
  event: flow('## Ask @worker\n\n- wait: event\n\nAsk.\n\n## Two @worker\n\nB.'),
  timer: flow('## Wait\n\n- wait: 1s\n\n## Two @worker\n\nB.'),
  group: flow('## Both\n\n### Left @worker\n\nL.\n\n### Right\n\n- approve: human\n\nR?\n\n## Two @worker\n\nB.'),
  any: flow(
    '## Race\n\n- join: any\n\n### Left @worker\n\nL.\n\n### Right\n\n- approve: human\n\nR?\n\n## Two @worker\n\nB.',
  ),
  each: flow(
    '## Each @worker\n\n- each: "[1, 2, 3]"\n- parallel: 2\n\nDo {{item}}.'.replace('"[1, 2, 3]"', '[1, 2, 3]'),
  ),
  subflow: flow('## Call\n\n- subflow: gate\n\n## Two @worker\n\nB.'),
  retry: flow('## Two @worker\n\n- retry: { max: 2, wait: 1s }\n\nFail once.'),
  failed: flow('## Fails @worker\n\nA.'),
  nested: flow('## Outer\n\n- subflow: subflow\n\n## Two @worker\n\nB.'),
  'each-subflow': flow('## Each\n\n- each: [1, 2, 3]\n- parallel: 2\n- subflow: gate'),
  'each-retry': flow('## Two @worker\n\n- each: [1, 2, 3]\n- parallel: 3\n- retry: { max: 2, wait: 1s }\n\nFail once.'),
  'event-timeout': flow('## Ask @worker\n\n- wait: event\n- timeout: 1s\n- on_timeout: continue\n\nAsk.'),
  remind: flow('## Gate\n\n- approve: human\n- remind: 1s\n- timeout: 3s\n- on_timeout: continue\n\nOK?'),
  long: flow(
    ['Left', 'Right']
      .map((name) => `### ${name}\n\n- approve: human\n- on_reject: ${name.toLowerCase()}\n- max_rounds: 30\n\nOK?`)
      .reduce((text, one) => `${text}\n\n${one}`, '## Both'),
  ),
  stopped: flow('## Gate\n\n- approve: human\n\nOK?'),
  'stopped-event': flow('## Ask @worker\n\n- wait: event\n\nAsk.'),
  'stopped-timer': flow('## Wait\n\n- wait: 1h'),
  'stopped-later': flow('## Two @worker\n\n- retry: { max: 2, wait: 1h }\n\nFail once.'),
  'stopped-fork': flow('## Both\n\n### Left @worker\n\nL.\n\n### Right\n\n- approve: human\n\nR?'),
  'stopped-subflow': flow('## Call\n\n- subflow: stopped'),
  'stopped-work': flow('## Slow @worker\n\nS.'),
};
/** Here nobody decides: the clock does, or a faster branch. */
const UNATTENDED = ['gate-timeout', 'any', 'remind', 'event-timeout'];
/** How often a gate of the flow is rejected before it is approved. */
const REJECTED: Readonly<Record<string, number>> = { long: 11 };
const SCRIPT =
  '- { when: { step: two, attempt: 1, contains: "Fail once" }, error: refused }\n- { when: { step: fails }, error: refused }\n- { when: { step: slow }, text: late, delayMs: 20000 }\n- { text: done }\n';

test('the history of every feature replays on the build that made it', async () => {
  const files = Object.fromEntries(Object.entries(FLOWS).map(([name, text]) => [`flows/${name}.md`, text]));
  const workspace = await app.workspace({ ...scripted(SCRIPT), ...files });
  const codePath = join(distDir, 'workflows.js');
  const ids = await Promise.all(
    Object.keys(FLOWS).map(async (name) => [name, await app.start(workspace, name)] as const),
  );
  await Promise.all(
    ids.map(([name, id]) => (name.startsWith('stopped') ? stopAtWork(workspace, id) : drive(workspace, id))),
  );
  for (const [name, id] of ids) {
    await expect.poll(() => app.deps.workflows.describeRun(id), { timeout: 20_000 }).toBe('closed');
    for (const [index, history] of (await historiesOf(temporal.client, id)).entries()) {
      const title = index === 0 ? name : `${name}-${index + 1}`;
      await expect(
        Worker.runReplayHistory({ workflowBundle: { codePath } }, history, id),
        title,
      ).resolves.toBeUndefined();
      if (RECORD !== '') record(title, historyToJSON(history).replace(/"identity": "[^"]*"/g, '"identity": "worker"'));
    }
  }
}, 120_000);

/** Decides and releases whatever the run and its children wait for, until the run has ended. */
async function drive(workspace: string, id: string): Promise<void> {
  const { flow: name } = await app.run(workspace, id);
  const rejected = REJECTED[name];
  if (rejected !== undefined) {
    await decideGates(app, { workspace, id }, (round) => (round <= rejected ? 'reject' : 'approve'));
    return;
  }
  for (;;) {
    const run = await app.until(workspace, id, (view) => view.finishedAt !== null || view.waiting.length > 0);
    if (run.finishedAt !== null) return;
    for (const wait of run.waiting) {
      if (wait.runId) await drive(workspace, wait.runId);
      const at = `/api/workspaces/${workspace}/runs/${id}`;
      if (wait.kind === 'approval' && !UNATTENDED.includes(run.flow))
        await app.post(`${at}/approve`, { decision: 'approve' });
      const url = wait.releaseUrl === undefined ? null : new URL(wait.releaseUrl);
      if (url) await app.post(url.pathname + url.search, {}, { as: null });
    }
    await app.until(workspace, id, (view) => view.finishedAt !== null || view.lastSeq > run.lastSeq);
  }
}

/** Stops a run once it waits, or is at work on its model call. */
async function stopAtWork(workspace: string, id: string): Promise<void> {
  const kinds = ['model.started', 'step.retrying'];
  const isThere = ({ flow: name, waiting, steps }: RunView) =>
    waiting.length > 0 ||
    (!name.endsWith('fork') && steps.some(({ trace }) => trace.some(({ kind }) => kinds.includes(kind))));
  await app.until(workspace, id, isThere);
  await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`);
}

function record(name: string, json: string): void {
  const folder = join(import.meta.dirname, '../replay/histories', RECORD);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${json}\n`);
  expect(readFileSync(join(folder, `${name}.json`), 'utf8')).toContain('eventId');
}
