import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import { distDir } from '../../src/platform/db/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { decideGates } from '../support/drive-gates.js';
import { flow, scripted } from '../support/flows.js';
import { historiesOf, ownTemporal } from '../support/own-temporal.js';
import { sendWithRetry } from '../support/send-with-retry.js';

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
  carried: flow('## Carried @worker\n\nA.\n\n## Two @worker\n\nB.'),
  'stopped-work': flow('## Slow @worker\n\nS.'),
  rerun: flow('## One @worker\n\nA.\n\n## Gate\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nB.'),
  slots: flow(
    '## Dawdle @worker\n\nA.\n\n## Wait\n\n- wait: 1s\n\n## Two @worker\n\nB.',
    'concurrency: { limit: 1 }\n',
  ),
  votes: flow('## Gate\n\n- approve: human\n- need: 2\n\nOK?\n\n## Two @worker\n\nB.'),
  'timeout-back': flow(
    '## One @worker\n\nA.\n\n## Ask\n\n- wait: event\n- timeout: 1s\n- on_timeout: one\n- max_rounds: 1\n- on_fail: continue\n\nAsk.',
  ),
  'reject-back': flow('## One @worker\n\nA.\n\n## Gate\n\n- approve: human\n- on_reject: one\n- max_rounds: 2\n\nOK?'),
  escalate: flow(
    '## Gate\n\n- approve: [ada@example.com]\n- escalate: { after: 1s, to: role:admin }\n- timeout: 3s\n- on_timeout: continue\n\nOK?',
  ),
  edit: flow('## One @worker\n\nA.\n\n## Gate\n\n- approve: human\n- edit: [one]\n\nOK?\n\n## Two @worker\n\nB.'),
  form: flow('## Gate\n\n- approve: human\n\nHow much?\n\n```yaml form\namount: number\n```\n\n## Two @worker\n\nB.'),
  'ask-human': flow('## Asks @worker\n\nA.\n\n## Two @worker\n\nB.'),
  'approve-call': flow('## Acts @worker\n\nA.\n\n## Two @worker\n\nB.'),
  'flow-timeout': flow('## Ask\n\n- wait: event\n\nAsk.', 'timeout: 2s\n'),
  when: flow("## One @worker\n\nA.\n\n## Two @worker\n\n- when: steps.one.result == 'never'\n\nB."),
  until: flow(
    "## One @worker\n\nA.\n\n## Two @worker\n\n- until: self.result == 'never'\n- back_to: one\n- max_rounds: 1\n- on_fail: continue\n\nB.",
  ),
  'on-fail': flow('## Fails @worker\n\n- on_fail: continue\n\nA.\n\n## Two @worker\n\nB.'),
  'group-failed': flow('## Both\n\n### Fails @worker\n\nL.\n\n### Right\n\n- approve: human\n\nR?'),
};
/** What else a decision of the flow's gates carries. */
const DECIDES: Readonly<Record<string, object>> = { edit: { edits: { one: 'Z.' } }, form: { form: { amount: 3 } } };
/** Here nobody decides: the clock does, or a faster branch. */
const UNATTENDED = ['gate-timeout', 'any', 'remind', 'event-timeout', 'timeout-back', 'escalate', 'flow-timeout'];
/** How often a gate of the flow is rejected before it is approved. */
const REJECTED: Readonly<Record<string, number>> = { long: 11, 'reject-back': 1 };
const AGENT = 'tools: [ask_human, Bash, Read]\napprove: [Bash]\n';
const SCRIPT =
  '- { when: { step: dawdle }, text: late, delayMs: 1500 }\n- { when: { step: asks, turn: 1 }, calls: [{ tool: ask_human, args: { question: Which? } }] }\n- { when: { step: acts, turn: 1 }, calls: [{ tool: Bash, args: { command: "true" } }] }\n- { when: { step: two, attempt: 1, contains: "Fail once" }, error: refused }\n- { when: { step: fails }, error: refused }\n- { when: { step: carried }, text: late, delayMs: 6000 }\n- { when: { step: slow }, text: late, delayMs: 20000 }\n- { text: done }\n';

test('the history of every feature replays on the build that made it', async () => {
  const files = Object.fromEntries(Object.entries(FLOWS).map(([name, text]) => [`flows/${name}.md`, text]));
  const workspace = await app.workspace({ ...scripted(SCRIPT, {}, AGENT), ...files });
  const codePath = join(distDir, 'workflows.js');
  const ids = await Promise.all(Object.keys(FLOWS).map(async (name) => [name, await begin(workspace, name)] as const));
  await Promise.all(
    ids.map(([name, id]) => (name.startsWith('stopped') ? stopAtWork(workspace, id) : drive(workspace, id))),
  );
  for (const [name, id] of ids) {
    await expect.poll(() => app.deps.workflows.describeRun(id)).toBe('closed');
    for (const [index, history] of (await historiesOf(temporal.client, id)).entries()) {
      const title = index === 0 ? name : `${name}-${index + 1}`;
      await expect(
        Worker.runReplayHistory({ workflowBundle: { codePath } }, history, id),
        title,
      ).resolves.toBeUndefined();
      if (RECORD !== '') record(title, historyToJSON(history).replace(/"identity": "[^"]*"/g, '"identity": "worker"'));
    }
  }
});

/** Starts a run of the flow; of a rerun that is another one from step 2 on, and in a line somebody stands behind it. */
async function begin(workspace: string, name: string): Promise<string> {
  const id = await app.start(workspace, name);
  if (name === 'slots') await app.start(workspace, name);
  if (name !== 'rerun') return id;
  await drive(workspace, id);
  const response = await app.post(`/api/workspaces/${workspace}/runs/${id}/rerun`, { step: 2 });
  return ((await response.json()) as { runId: string }).runId;
}

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
      if (wait.kind === 'approval' && !UNATTENDED.includes(run.flow)) await approve(`${at}/approve`, run.flow);
      const isLeft = wait.releaseUrl === undefined || UNATTENDED.includes(run.flow);
      const url = isLeft ? null : new URL(wait.releaseUrl);
      if (url) await sendWithRetry(() => app.post(url.pathname + url.search, {}, { as: null }));
    }
    await app.until(workspace, id, (view) => view.finishedAt !== null || view.lastSeq > run.lastSeq);
  }
}

async function approve(path: string, name: string): Promise<void> {
  const body = { decision: 'approve', ...DECIDES[name] };
  await sendWithRetry(() => app.post(path, body));
  if (name === 'votes') await app.post(path, body, { as: await app.keyFor('editor') });
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
