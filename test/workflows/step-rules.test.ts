import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeAnswer, FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

interface At {
  readonly run: string;
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly turn: number;
}

const worker = (frontmatter = '') => ({
  'agents/worker.md': `---\ndescription: Works.\n${frontmatter}---\n\nYou work.\n`,
});
const NAMES = 'input: { names(array): string }\n';

function play(answer: (at: At) => FakeAnswer | string | undefined): void {
  provider.respond(({ idempotencyKey }) => {
    const [run = '', step = '', item, round, , turn] = (idempotencyKey ?? '').split('/');
    const said = answer({ run, step, item: Number(item), round: Number(round), turn: Number(turn) });
    return typeof said === 'string' ? { text: said } : (said ?? { text: `${step} is done` });
  });
}

const promptOf = (id: string, place: string): string =>
  provider.calls.find(({ idempotencyKey }) => idempotencyKey?.startsWith(`${id}/${place}/`))?.prompt ?? '';

async function started(files: Readonly<Record<string, string>>, body?: object) {
  const workspace = await app.workspace({ ...worker(), ...files });
  const id = await app.start(workspace, 'f', body);
  return { workspace, id, at: `/api/workspaces/${workspace}/runs/${id}/approve` };
}

const GATE = (rounds: number) =>
  flow(
    `## Draft @worker\n\nDraft it.\n\n## Sign\n\n- approve: human\n- timeout: 4s\n- on_timeout: draft\n- max_rounds: ${rounds}\n\nOK?`,
  );

test('a gate that nobody decided in time goes back to a step, which is told, and is decided in the next round', async () => {
  play(() => undefined);
  const { workspace, id, at } = await started({ 'flows/f.md': GATE(2) });
  const { waiting } = await app.until(
    workspace,
    id,
    ({ steps, status }) => steps[1]?.round === 2 && status === 'awaiting-approval',
  );
  expect((await app.post(at, { decision: 'approve', ...waiting[0]?.gate })).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({
    status: 'completed',
    steps: [
      { round: 2 },
      { round: 2, decision: { decision: 'approve' }, rounds: [{ decision: { decision: 'timeout', by: 'the clock' } }] },
    ],
  });
  expect(promptOf(id, 'draft/0/2')).toContain('no decision in time');
});

test('a gate whose rounds are used up fails when nobody decides again', async () => {
  play(() => undefined);
  const { workspace, id } = await started({ 'flows/f.md': GATE(1) });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'failed', steps: [{ round: 2 }, { round: 2, status: 'failed' }] });
  expect(run.error).toContain('no decision in time, after 1 rounds');
  // No value and no default ever approves.
  expect(run.steps[1]?.decision).toMatchObject({ decision: 'timeout' });
});

test('a wait for an event that did not come goes back to a step, and its next round takes an event', async () => {
  play(() => undefined);
  const body =
    '## Order @worker\n\nOrder.\n\n## Parcel\n\n- wait: event\n- timeout: 4s\n- on_timeout: order\n- max_rounds: 2\n\nWait.';
  const { workspace, id } = await started({ 'flows/f.md': flow(body) });
  const waiting = await app.until(workspace, id, (run) => run.steps[1]?.round === 2 && run.waiting.length > 0);
  const url = new URL(waiting.waiting[0]?.releaseUrl ?? '');
  expect((await app.post(url.pathname + url.search, { parcel: 1 }, { as: null })).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ round: 2 }, { round: 2, eventPayload: { parcel: 1 } }] });
  expect(promptOf(id, 'order/0/2')).toContain('no event came in time');
});

test('`tools` of a step narrows: what it does not name is not offered, and is refused when it is called anyway', async () => {
  const tool = '---\ndescription: Stamps.\n---\n\n```sh\necho stamped > files/stamp.txt\n```\n';
  play(({ turn }) =>
    turn === 0
      ? {
          calls: [
            { name: 'Glob', args: { pattern: '*' } },
            { name: 'Bash', args: { command: 'echo ran > files/ran.txt' } },
            { name: 'stamp', args: {} },
            { name: 'ask_human', args: { question: 'May I?' } },
          ],
        }
      : 'done',
  );
  const files = {
    ...worker('tools: [stamp, ask_human]\n'),
    'tools/stamp.md': tool,
    'flows/f.md': flow('## One @worker\n\n- tools: [Glob, Read]\n\nGo.'),
  };
  const { workspace, id } = await started(files);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', error: null, steps: [{ files: [] }] });
  const [first, second] = provider.calls.filter(({ idempotencyKey }) => idempotencyKey?.startsWith(`${id}/`));
  const offered = first?.body.tools.map((one: { function: { name: string } }) => one.function.name);
  expect(offered.toSorted()).toEqual(['Glob', 'Read']);
  const told = second?.body.messages.filter(({ role }: { role: string }) => role === 'tool');
  expect(told.slice(1).map(({ content }: { content: string }) => content)).toEqual(
    ['Bash', 'stamp', 'ask_human'].map((name) => expect.stringContaining(`there is no tool ${name}`)),
  );
  expect(run.steps[0]?.trace.filter(({ kind }) => kind === 'tool.started').map(({ name }) => name)).toEqual(['Glob']);
  expect(run.steps[0]?.trace.filter(({ kind }) => kind === 'file.written')).toEqual([]);
});

test('`tools` of a step may keep what its agent has by name', async () => {
  play(({ turn }) => (turn === 0 ? { calls: [{ name: 'ask_human', args: { question: 'Which?' } }] } : 'painted'));
  const files = {
    ...worker('tools: [ask_human, Read]\n'),
    'flows/f.md': flow('## One @worker\n\n- tools: [ask_human]\n\nGo.'),
  };
  const { workspace, id, at } = await started(files);
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  expect((await app.post(at, { decision: 'approve', note: 'blue' })).status).toBe(200);
  expect(await app.ended(workspace, id)).toMatchObject({ status: 'completed', steps: [{ result: 'painted' }] });
  const [first] = provider.calls.filter(({ idempotencyKey }) => idempotencyKey?.startsWith(`${id}/`));
  expect(first?.body.tools.map((one: { function: { name: string } }) => one.function.name)).toEqual(['ask_human']);
});

test('each item may loop and race inside a subflow, and counts its rounds for itself', async () => {
  play(({ step, round, run }) => {
    if (step !== 'check') return undefined;
    return round === 1 || (round === 2 && promptOf(run, 'check/0/1').includes('stubborn')) ? 'bad' : 'good';
  });
  const inner = flow(
    "## Write @worker\n\nWrite for {{input.name}}.\n\n## Race\n\n- join: any\n\n### Quick @worker\n\nQ.\n\n### Slow\n\n- wait: 1h\n\n## Check @worker\n\n- until: self.result == 'good'\n- back_to: write\n- max_rounds: 2\n\nCheck for {{input.name}}.",
    'input: { name: string }\n',
  );
  const outer = flow(
    '## All\n\n- each: input.names\n- parallel: 2\n- subflow: inner\n- with: { name: "{{item}}" }',
    NAMES,
  );
  const { workspace, id } = await started(
    { 'flows/f.md': outer, 'flows/inner.md': inner },
    { task: { names: ['Ada', 'stubborn'] } },
  );
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ data: ['good', 'good'] }] });
  const children = await app.deps.db.query<{ id: string; name: string }>(
    `SELECT id, input->>'name' AS name FROM run WHERE parent_id = $1`,
    [id],
  );
  const rounds = await Promise.all(
    children.map(async (child) => {
      const { steps } = await app.run(workspace, child.id);
      return [child.name, steps[0]?.round, steps.at(-1)?.round, steps[1]?.status, steps[2]?.status];
    }),
  );
  expect(rounds.toSorted()).toEqual([
    ['Ada', 2, 2, 'completed', 'skipped'],
    ['stubborn', 3, 3, 'completed', 'skipped'],
  ]);
});

test('an item whose loop is used up fails its step, or is null where the step goes on', async () => {
  play(({ step, run }) =>
    step === 'check' ? (promptOf(run, 'check/0/1').includes('never') ? 'bad' : 'good') : undefined,
  );
  const inner = flow(
    "## Write @worker\n\nW.\n\n## Check @worker\n\n- until: self.result == 'good'\n- back_to: write\n- max_rounds: 1\n\nCheck for {{input.name}}.",
    'input: { name: string }\n',
  );
  const outer = (options: string) =>
    flow(`## All\n\n- each: input.names\n- subflow: inner\n- with: { name: "{{item}}" }\n${options}`, NAMES);
  const body = { task: { names: ['Ada', 'never'] } };
  const files = { 'flows/f.md': outer(''), 'flows/on.md': outer('- on_fail: continue\n'), 'flows/inner.md': inner };
  const { workspace, id } = await started(files, body);
  const failed = await app.ended(workspace, id);
  expect(failed.status).toBe('failed');
  expect(failed.error).toContain('"until" did not hold after 1 rounds');
  const on = await app.ended(workspace, await app.start(workspace, 'on', body));
  expect(on).toMatchObject({ status: 'completed', steps: [{ data: ['good', null] }] });
});

test('a subflow with an each of subflows in it gives every result up to the top, in order', async () => {
  play(({ step, run }) =>
    step === 'leaf' ? `leaf ${/Leaf of \\"([a-z]+)\\"/.exec(promptOf(run, 'leaf/0/1'))?.[1]}` : undefined,
  );
  const files = {
    'flows/f.md': flow('## Top\n\n- subflow: middle\n\n## After @worker\n\nUse {{steps.top.result}}.', NAMES),
    'flows/middle.md': flow(
      '## All\n\n- each: input.names\n- parallel: 2\n- subflow: inner\n- with: { name: "{{item}}" }',
      NAMES,
    ),
    'flows/inner.md': flow('## Leaf @worker\n\nLeaf of {{input.name}}.', 'input: { name: string }\n'),
  };
  const { workspace, id } = await started(files, { task: { names: ['a', 'b', 'c'] } });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ data: ['leaf a', 'leaf b', 'leaf c'] }, {}] });
  const tree = await app.deps.db.query(
    'SELECT flow, count(*)::int AS n FROM run WHERE root_id = $1 GROUP BY flow ORDER BY flow',
    [id],
  );
  expect(tree).toEqual([
    { flow: 'f', n: 1 },
    { flow: 'inner', n: 3 },
    { flow: 'middle', n: 1 },
  ]);
});

test('a later `with` that names what a failed step did not make gets null, and empty inside a text', async () => {
  play(({ step }) => (step === 'look' ? { status: 400, body: 'no' } : undefined));
  const files = {
    'flows/f.md': flow(
      '## Look @worker\n\n- on_fail: continue\n\nLook.\n\n## Call\n\n- subflow: inner\n- with: { found: "{{steps.look.result}}", text: "Found {{steps.look.result}}.", how: "{{steps.look.status}}" }',
    ),
    'flows/inner.md': flow('## Inner @worker\n\nFor {{input.text}}'),
    'flows/strict.md': flow('## Inner @worker\n\nFor {{input.found}}', 'input: { found: string }\n'),
  };
  const { workspace, id } = await started({
    ...files,
    'flows/g.md': (files['flows/f.md'] ?? '').replace('subflow: inner', 'subflow: strict'),
  });
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ status: 'failed' }, { result: 'inner is done' }] });
  const [child] = await app.deps.db.query<{ input: object }>('SELECT input FROM run WHERE parent_id = $1', [id]);
  expect(child?.input).toEqual({ found: null, text: 'Found .', how: 'failed' });
  // A child that asks for a text is not begun without one, and the step says which input does not fit.
  const refused = await app.ended(workspace, await app.start(workspace, 'g'));
  expect(refused.status).toBe('failed');
  expect(refused.error).toMatch(/input of strict does not fit.*found/);
  expect(await app.deps.db.query('SELECT 1 FROM run WHERE parent_id = $1', [refused.id])).toEqual([]);
});
