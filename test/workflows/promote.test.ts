import { beforeAll, expect, test } from 'vitest';
import { checkTree } from '../../src/format/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { bodyOf } from '../support/workspace-app.js';

const CANARY = 'zq4711pelicanqz-and-more';
const TOOL =
  '---\ndescription: Looks an order up.\nargs:\n  id: its number\n---\n\n```python\nimport json, sys, os\nprint(json.dumps({"id": json.load(sys.stdin)["id"], "token": os.environ["SHOP_TOKEN"]}))\n```\n';
const SCRIPT = `
- { when: { step: read, turn: 1 }, calls: [{ tool: lookup, args: { id: "7" } }, { tool: Glob, args: { pattern: "*" } }] }
- { when: { step: read }, text: "{\\"ok\\": true}" }
- { when: { step: pay, turn: 1 }, calls: [{ tool: lookup, args: { id: "8" } }] }
- { when: { step: pay }, text: "Paid" }
- { when: { step: end }, text: "Done: the order is there" }
`;
const FILES = {
  ...scripted(SCRIPT, { 'tools/lookup.md': TOOL }, 'tools: [lookup, Glob]\nsecrets: [SHOP_TOKEN]\n'),
  'flows/inner.md': flow('## Pay @worker\n\nPay.\n\n## Sign\n\n- approve: human\n'),
  'flows/f.md': flow(
    '## Read @worker\n\n- output: json\n\nRead.\n\n```yaml schema\nok: boolean\n```\n\n## Money\n\n- subflow: inner\n\n## Parcel\n\n- wait: event\n\n## Agree\n\n- approve: human\n\n## End @worker\n\nEnd.',
  ),
};

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
  expect((await app.put('/api/secrets', { name: 'SHOP_TOKEN', value: CANARY })).status).toBe(200);
});

const promote = (workspace: string, id: string, body: object = {}, headers: Record<string, string> = {}) =>
  app.post(`/api/workspaces/${workspace}/runs/${id}/promote`, body, { headers });

async function readFile(workspace: string, path: string): Promise<string> {
  return (await bodyOf(app.get(`/api/workspaces/${workspace}/source?path=${path}`))).content;
}

/** A run of the flow with all that came into it from outside. */
async function completed(workspace: string): Promise<string> {
  const id = await app.start(workspace, 'f', { task: 'Order 7, please' });
  const child = await app.until(workspace, id, (run) => run.waiting.some(({ kind }) => kind === 'subflow'));
  const runId = child.waiting.find(({ kind }) => kind === 'subflow')?.runId ?? '';
  await app.until(workspace, runId, (run) => run.status === 'awaiting-approval');
  await app.post(`/api/workspaces/${workspace}/runs/${runId}/approve`, {
    decision: 'approve',
    note: 'Go  on <!-- x -->',
  });
  const waits = await app.until(workspace, id, (run) => run.waiting.some((wait) => wait.releaseUrl));
  const url = waits.waiting.find((wait) => wait.releaseUrl)?.releaseUrl ?? '';
  const { pathname, search } = new URL(url);
  expect((await app.post(pathname + search, { parcel: 'arrived' }, { as: null })).status).toBe(200);
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, { decision: 'approve' });
  const run = await app.ended(workspace, id);
  expect([run.error, run.status]).toEqual([null, 'completed']);
  return id;
}

test('a completed run becomes a case: its input, its decisions, its events and what its tools answered, without a secret', async () => {
  const workspace = await app.workspace(FILES);
  const id = await completed(workspace);
  const response = await promote(workspace, id, { caseName: 'An order', expect: ['status: completed'] });
  expect([response.status, await response.json()]).toEqual([
    200,
    {
      ok: true,
      file: 'evals/f-regressions.md',
      created: true,
      caseName: 'An order',
      trigger: 'manual',
      warnings: [],
      issues: [],
    },
  ]);
  const text = await readFile(workspace, 'evals/f-regressions.md');
  expect(text).not.toContain('pelican');
  const content = (files: Record<string, string>) =>
    Object.entries(files).map(([path, file]) => ({ path, content: new TextEncoder().encode(file) }));
  const { workspace: read, issues } = checkTree(content({ ...FILES, 'evals/f-regressions.md': text }), {
    livePaths: [],
    secrets: null,
    models: null,
  });
  expect(issues).toEqual([]);
  expect(read?.evals[0]).toMatchObject({
    target: 'flows/f',
    trigger: 'manual',
    cases: [
      {
        title: 'An order',
        input: 'Order 7, please',
        decisions: [
          { step: 'parcel', decision: 'event', event: { parcel: 'arrived' } },
          { step: 'agree', decision: 'approve' },
          { step: 'money/sign', decision: 'approve', note: 'Go  on <!-- x -->' },
        ],
        tools: {
          lookup: [
            { id: '7', token: '[secret SHOP_TOKEN]' },
            { id: '8', token: '[secret SHOP_TOKEN]' },
          ],
        },
      },
    ],
  });
  const history = await bodyOf(app.get(`/api/workspaces/${workspace}/history?limit=1`));
  expect(history.changes[0]).toMatchObject({ via: 'edit', paths: ['evals/f-regressions.md'] });

  // What a rerun took over was answered before, and belongs to the case as well.
  const again = await bodyOf(app.post(`/api/workspaces/${workspace}/runs/${id}/rerun`, { step: 5 }));
  await app.ended(workspace, again.runId);
  expect((await promote(workspace, again.runId, { evalName: 'reruns' })).status).toBe(200);
  const rerun = await readFile(workspace, 'evals/reruns.md');
  expect(rerun.match(/```json lookup/g)).toHaveLength(2);
  expect(rerun).toContain('- money/sign: approve');
  expect(rerun).toContain('- parcel: event {"parcel":"arrived"}');
  expect(rerun).not.toContain('### Expect');
});

test('many promotes at once lose no case, a repeat under its key adds none, and every other byte stays', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: hello }\n'),
    'flows/g.md': flow('## One @worker\n\nSay.'),
    'evals/mine.md': "---\ntarget:   'flows/g' # ours\n---\n\n## First\n\n### Input\n\nhello   there\n",
  });
  const before = await readFile(workspace, 'evals/mine.md');
  const run = await app.ended(workspace, await app.start(workspace, 'g', { task: 'x' }));
  const sent = await Promise.all(
    Array.from({ length: 6 }, () => promote(workspace, run.id, { evalName: 'mine', caseName: 'Same' })),
  );
  expect(sent.map(({ status }) => status)).toEqual(sent.map(() => 200));
  const names = await Promise.all(sent.map(async (one) => (await bodyOf(one)).caseName as string));
  expect(names.sort()).toEqual(['Same', 'Same (2)', 'Same (3)', 'Same (4)', 'Same (5)', 'Same (6)']);
  const after = await readFile(workspace, 'evals/mine.md');
  expect(after.startsWith(before)).toBe(true);
  expect(after.match(/^## Same/gm)).toHaveLength(6);

  const key = { 'idempotency-key': `promote-${run.id}` };
  const [first, second] = [await promote(workspace, run.id, {}, key), await promote(workspace, run.id, {}, key)];
  expect(await second.json()).toEqual(await first.json());
  expect((await readFile(workspace, 'evals/g-regressions.md')).match(/^## /gm)).toHaveLength(1);
});

test('an agent run alone is started, run again and saved under its own name', async () => {
  const workspace = await app.workspace(scripted('- { text: hello }\n'));
  const start = async (path: string, body: object) =>
    (await bodyOf(app.post(`/api/workspaces/${workspace}/${path}`, body))).runId;
  const first = await app.ended(workspace, await start('agents/worker/run', { task: 'Say hello' }));
  expect([first.flow, first.status]).toEqual(['agents/worker', 'completed']);
  const again = await app.ended(workspace, await start(`runs/${first.id}/rerun`, {}));
  expect([again.flow, again.input, again.rerunOf]).toEqual(['agents/worker', 'Say hello', first.id]);
  const saved = await bodyOf(promote(workspace, again.id));
  expect(saved).toMatchObject({ ok: true, file: 'evals/worker-regressions.md', created: true });
  expect(await readFile(workspace, saved.file)).toContain('target: agents/worker\n');
});

test('what is not completed, taken or wrong is refused, and changes nothing', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: hello }\n'),
    'flows/g.md': flow('## One @worker\n\nSay.'),
    'flows/wait.md': flow('## Agree\n\n- approve: human\n'),
    'evals/other.md': '---\ntarget: agents/worker\n---\n\n## First\n\nHello\n',
  });
  const tree = async () => (await bodyOf(app.get(`/api/workspaces/${workspace}/source`))).revision as string;
  const live = await app.start(workspace, 'wait');
  const run = await app.ended(workspace, await app.start(workspace, 'g'));
  const before = await tree();
  const refusals = [
    [await promote(workspace, live), 409, /only a completed run/],
    [await promote(workspace, run.id, { evalName: 'other' }), 409, /evals\/other.md is taken/],
    [await promote(workspace, run.id, { evalName: '../../AGENTS' }), 422, /evalName/],
    [await promote(workspace, run.id, { expect: ['cost: much'] }), 422, /expect\[0\]/],
    [await promote(workspace, run.id, { caseName: 'x\n\n## y @z' }), 422, /read back/],
    [await promote(workspace, 'no-such-run'), 404, /no such run/],
    [await promote(await app.workspace(scripted('- { text: a }\n')), run.id), 404, /no such run/],
  ] as const;
  for (const [response, status, says] of refusals) {
    expect([response.status, (await bodyOf(response)).error]).toEqual([status, expect.stringMatching(says)]);
  }
  expect(await tree()).toBe(before);
});

test('promote gives the issues that a deploy of the file gives: an assertion that is nearly a type, and steps that are not there', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: Done }\n'),
    'flows/f.md': flow('## End @worker\n\nEnd.'),
  });
  const id = await app.start(workspace, 'f', { task: 'Go' });
  await app.ended(workspace, id);
  const saved = await bodyOf(promote(workspace, id, { expect: ['contain: Done', 'contains: Done'] }));
  const content = await readFile(workspace, saved.file);
  const files = [{ path: saved.file, content }];
  const tree = [...Object.entries({ ...scripted('- { text: Done }\n'), 'flows/f.md': flow('## End @worker\n\nEnd.') })];
  const deploy = await bodyOf(
    app.post(`/api/workspaces/${workspace}/deploy`, {
      files: [...files, ...tree.map(([path, text]) => ({ path, content: text }))],
      dryRun: true,
    }),
  );
  expect(saved.issues).toEqual(deploy.issues.filter((issue: { path: string }) => issue.path === saved.file));
  expect(saved.issues).toMatchObject([{ code: 'case/assertion-typo', severity: 'warning' }]);

  const refused = await promote(workspace, id, { expect: ['step(nope): contains: x'] });
  expect(refused.status).toBe(422);
  const { issues } = await bodyOf(refused);
  expect(issues.map(({ code }: { code: string }) => code)).toContain('step/unknown-step');
});
