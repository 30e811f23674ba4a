import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeAnswer, FakeCall, FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';
import { bodyOf } from '../support/workspace-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

const agent = (keys: string, body: string) => `---\ndescription: Of the tests.\n${keys}\n---\n\n${body}\n`;
const FILES = {
  'agents/lead.md': agent('agents: [digger, asker]', 'You LEAD.'),
  'agents/digger.md': agent('tools: [Write, Read]', 'You DIG.'),
  'agents/asker.md': agent('tools: [ask_human]', 'You ASK.'),
  'flows/f.md': flow('## One @lead\n\nDo it.'),
};

type Part = (call: FakeCall, turn: number) => FakeAnswer | Promise<FakeAnswer>;

/** What each agent answers, told by its prompt; `turn` counts from 0. */
function play(parts: Readonly<Record<string, Part>>): void {
  provider.respond(async (call) => {
    const turn = call.body.messages.filter(({ role }: { role: string }) => role === 'assistant').length;
    const system = String(call.body.messages[0].content);
    const [, part] = Object.entries(parts).find(([name]) => system.includes(name)) ?? [];
    return (await part?.(call, turn)) ?? { text: 'nobody' };
  });
}

const hand = (name: string, task: string) => ({ name: 'run_agent', args: { agent: name, task } });
const leads =
  (...calls: { name: string; args: object }[]): Part =>
  (_call, turn) =>
    turn === 0 ? { calls, usage: { input: 1_000, output: 100 } } : { text: 'led' };

/** What the last call of the lead was told by its tools. */
function told(): string[] {
  const last = provider.calls.findLast(({ prompt }) => prompt.includes('You LEAD.'));
  const messages: { role: string; content: string }[] = last?.body.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

/** By their input: of what begins side by side any may be the first. */
async function childrenOf(workspace: string, id: string): Promise<RunView[]> {
  const rows = await app.deps.db.query<{ id: string }>('SELECT id FROM run WHERE parent_id = $1', [id]);
  const runs = await Promise.all(rows.map((row) => app.run(workspace, row.id)));
  return runs.toSorted((a, b) => String(a.input).localeCompare(String(b.input)));
}

test('work is handed to others side by side: runs of their own, whose results, files and cost come back', async () => {
  let together = 0;
  let meet = (): void => undefined;
  const both = new Promise<void>((resolve) => {
    meet = resolve;
  });
  play({
    LEAD: leads(hand('digger', 'the left\nhole'), hand('digger', 'the right hole')),
    DIG: async ({ prompt }, turn) => {
      if (turn > 0) return { text: prompt.includes('the left') ? 'left is dug' : 'right is dug' };
      together += 1;
      if (together === 2) meet();
      await both;
      const path = prompt.includes('the left') ? 'outputs/left.md' : 'outputs/right.md';
      return {
        calls: [{ name: 'Write', args: { path, content: 'dug' } }],
        usage: { input: 1_000, output: 100 },
      };
    },
  });
  const workspace = await app.workspace(FILES);
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect(run.error).toBe(null);
  expect(told()).toEqual([
    'left is dug\n\nFiles that it left:\n- outputs/digger/left.md',
    'right is dug\n\nFiles that it left:\n- outputs/digger/right.md',
  ]);
  const children = await childrenOf(workspace, id);
  expect(children).toMatchObject([
    { flow: 'agents/digger', status: 'completed', parentId: id, input: 'the left\nhole' },
    { flow: 'agents/digger', status: 'completed', parentId: id, input: 'the right hole' },
  ]);
  const own = run.usage.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  const theirs = children.reduce((sum, { costUsd }) => sum + costUsd, 0);
  expect(theirs).toBeGreaterThan(0);
  expect(run.costUsd).toBeCloseTo(own + theirs, 9);
  expect(run.steps[0]?.costUsd).toBeCloseTo(own + theirs, 9);
  const started = run.steps[0]?.trace.filter(({ kind }) => kind === 'tool.started').map(({ runId }) => runId);
  expect(started?.toSorted()).toEqual(children.map((child) => child.id).toSorted());
});

test('child runs of subflows and of agents are listed by their parent and among all runs, and not by default', async () => {
  play({
    LEAD: leads(hand('digger', 'dig'), hand('digger', 'dig deeper')),
    DIG: ({ prompt }) => ({ text: prompt.includes('deeper') ? 'deep' : 'dug' }),
  });
  const workspace = await app.workspace({ ...FILES, 'flows/outer.md': flow('## Call\n\n- subflow: f') });
  const id = await app.start(workspace, 'outer');
  await app.ended(workspace, id);
  const list = async (query: string) => {
    const { runs, next } = await bodyOf(app.get(`/api/workspaces/${workspace}/runs?${query}`));
    return { runs: runs as { id: string; flow: string; parentId: string | null }[], next };
  };
  const { runs: subflows } = await list(`parent=${id}`);
  expect(subflows).toMatchObject([{ flow: 'f', parentId: id }]);
  const child = subflows[0]?.id ?? '';
  const { runs: workers } = await list(`parent=${child}`);
  expect(workers).toMatchObject([
    { flow: 'agents/digger', parentId: child },
    { flow: 'agents/digger', parentId: child },
  ]);
  const first = await list(`parent=${child}&limit=1`);
  const second = await list(`parent=${child}&limit=1&cursor=${first.next}`);
  expect([...first.runs, ...second.runs, second.next]).toEqual([...workers, null]);
  expect((await list('')).runs).toMatchObject([{ id, parentId: null }]);
  expect((await list('mode=all')).runs.map((run) => run.id).toSorted()).toEqual(
    [id, child, ...workers.map((run) => run.id)].toSorted(),
  );
  expect((await list(`parent=${id}&mode=eval`)).runs).toEqual([]);
  const elsewhere = await app.workspace(FILES);
  expect((await bodyOf(app.get(`/api/workspaces/${elsewhere}/runs?parent=${id}`))).runs).toEqual([]);
});

test('a tenth piece of work waits until the first eight are done, and each is done once', async () => {
  const tasks = Array.from({ length: 10 }, (_, index) => `piece ${index}.`);
  play({
    LEAD: leads(...tasks.map((task) => hand('digger', task))),
    DIG: ({ prompt }) => ({ text: `${/piece \d/.exec(prompt)?.[0]} is done` }),
  });
  const workspace = await app.workspace(FILES);
  const id = await app.start(workspace, 'f');
  expect((await app.ended(workspace, id)).error).toBe(null);
  expect(told()).toEqual(tasks.map((_, index) => `piece ${index} is done`));
  expect(await childrenOf(workspace, id)).toHaveLength(10);
});

test('one that asks a person holds up only who waits for it; a worker that is replaced meanwhile changes nothing', async () => {
  play({
    LEAD: leads(hand('asker', 'ask'), hand('digger', 'dig')),
    DIG: () => ({ text: 'dug' }),
    ASK: (_call, turn) =>
      turn === 0 ? { calls: [{ name: 'ask_human', args: { question: 'Deep?' } }] } : { text: 'asked' },
  });
  const workspace = await app.workspace(FILES);
  const id = await app.start(workspace, 'f');
  const waits = await app.until(workspace, id, ({ waiting }) => waiting.length === 1 && waiting[0]?.kind === 'subflow');
  expect(waits.status).toBe('running');
  const child = String(waits.waiting[0]?.runId);
  await app.until(workspace, child, ({ status }) => status === 'awaiting-approval');
  const { approvals } = await bodyOf(app.get('/api/approvals'));
  expect(approvals).toMatchObject([{ workspace, runId: child, flow: 'agents/asker', ask: 'Deep?' }]);
  await app.restartWorker({});
  await app.post(`/api/workspaces/${workspace}/runs/${child}/approve`, { decision: 'approve', note: 'very' });
  expect((await app.ended(workspace, id)).status).toBe('completed');
  expect(told()).toEqual(['asked', 'dug']);
  expect(await childrenOf(workspace, id)).toHaveLength(2);
});

test('a stop reaches those that work was handed to, and what they spent counts', async () => {
  play({
    LEAD: leads(hand('asker', 'ask'), hand('asker', 'ask too')),
    ASK: () => ({
      calls: [{ name: 'ask_human', args: { question: 'Deep?' } }],
      usage: { input: 1_000, output: 100 },
    }),
  });
  const workspace = await app.workspace(FILES);
  const id = await app.start(workspace, 'f');
  await expect
    .poll(async () => (await childrenOf(workspace, id)).map(({ status }) => status))
    .toEqual(['awaiting-approval', 'awaiting-approval']);
  await app.post(`/api/workspaces/${workspace}/runs/${id}/stop`, {});
  const run = await app.run(workspace, id);
  const children = await childrenOf(workspace, id);
  expect(children.map(({ status, stopped }) => ({ status, stopped }))).toEqual(
    Array(2).fill({ status: 'failed', stopped: true }),
  );
  // Three calls of the same usage.
  expect(run.steps[0]?.costUsd).toBeCloseTo(0.006, 9);
  expect(run.costUsd).toBeCloseTo(0.006, 9);
});

test('one that fails is a tool error with its words, and who is not named is refused', async () => {
  play({
    LEAD: leads(hand('digger', 'dig'), hand('stranger', 'x')),
    DIG: () => ({ status: 401, body: 'no such key' }),
  });
  const workspace = await app.workspace(FILES);
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(run.status).toBe('completed');
  expect(told()).toEqual([
    expect.stringMatching(/^digger did not finish: .*no such key/),
    expect.stringMatching(/^the arguments do not fit: .*agent/),
  ]);
});

test('work is handed on three deep; the last is told to do it itself', async () => {
  const files = { ...FILES, 'agents/lead.md': agent('agents: [lead]', 'You LEAD.') };
  const refusals: string[] = [];
  play({
    LEAD: ({ body }, turn) => {
      if (turn === 0) return { calls: [hand('lead', 'on')] };
      const said = String(body.messages.at(-1).content);
      if (said.includes('deep at most')) refusals.push(said);
      return { text: `back, ${said.length > 60 ? 'end' : said}` };
    },
  });
  const workspace = await app.workspace(files);
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect(run.steps[0]?.result).toBe('back, back, back, back, end');
  expect(refusals).toEqual([
    'work is delegated 3 deep at most, and lead is the last of them: do it yourself, or answer what is left to do',
  ]);
  const [{ count } = { count: 0 }] = await app.deps.db.query<{ count: number }>(
    'SELECT count(*)::int FROM run WHERE root_id = $1',
    [id],
  );
  expect(count).toBe(4);
});

test("the step's budget and the run's hold what others do for it", async () => {
  const usage = { input: 1_000, output: 100 };
  play({
    LEAD: leads(hand('digger', 'dig'), hand('digger', 'dig more')),
    DIG: () => ({ text: 'dug', usage }),
  });
  const dear = flow('## One @lead\n\n- budget: 0.0105\n\nDo it.');
  const workspace = await app.workspace({
    ...FILES,
    'flows/s.md': dear,
    'flows/f.md': flow('## One @lead\n\nDo it.', 'budget: 0.0105\n'),
  });
  for (const name of ['s', 'f']) {
    const id = await app.start(workspace, name);
    const run = await app.ended(workspace, id);
    expect(run.costUsd).toBeLessThanOrEqual(0.0105);
    const children = await childrenOf(workspace, id);
    expect(children.map(({ costUsd }) => costUsd).every((cost) => cost <= 0.0105)).toBe(true);
  }
});

test('approve: [run_agent] asks before work is handed on, and refused nobody is begun', async () => {
  const files = { ...FILES, 'agents/lead.md': agent('agents: [digger]\napprove: [run_agent]', 'You LEAD.') };
  play({ LEAD: leads(hand('digger', 'dig')), DIG: () => ({ text: 'dug' }) });
  const workspace = await app.workspace(files);
  for (const decision of ['reject', 'approve']) {
    const id = await app.start(workspace, 'f');
    const gate = await app.until(workspace, id, ({ status }) => status === 'awaiting-approval');
    expect(gate.waiting[0]?.calls).toMatchObject([{ name: 'run_agent', args: { agent: 'digger', task: 'dig' } }]);
    await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, { decision, note: 'no need' });
    expect((await app.ended(workspace, id)).status).toBe('completed');
    expect(told()).toEqual([decision === 'approve' ? 'dug' : 'not approved: no need']);
    expect(await childrenOf(workspace, id)).toHaveLength(decision === 'approve' ? 1 : 0);
  }
});

test("the agent's timeout bounds those that it hands work to", async () => {
  const files = { ...FILES, 'agents/lead.md': agent('agents: [digger]\ntimeout: 6s', 'You LEAD.') };
  play({ LEAD: leads(hand('digger', 'dig')), DIG: () => ({ text: 'dug', delayMs: 60_000 }) });
  const workspace = await app.workspace(files);
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  // The digger is ended, and with the time gone so is the step that it worked for.
  expect(run.error).toBe('One: the step took longer than its timeout');
  expect(await childrenOf(workspace, id)).toMatchObject([{ status: 'failed' }]);
});
