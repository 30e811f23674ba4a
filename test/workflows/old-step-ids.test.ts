import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { evalVerbs } from '../support/evals.js';
import { flow, scripted } from '../support/flows.js';

let app: EngineApp;
let evals: ReturnType<typeof evalVerbs>;
beforeAll(async () => {
  app = await createEngineApp();
  evals = evalVerbs(app);
});

const SCRIPT = `- when: { step: prufen, turn: 1, round: 1 }
  text: first
- when: { step: prufen }
  text: second
- when: { step: ubersicht }
  text: seen
- when: { step: schluss, turn: 1 }
  calls: [{ tool: Read, args: { path: steps/prufen.md } }]
- when: { step: schluss }
  text: "{{last}}"
- text: nothing was meant
`;
const FLOW = flow(`## Prüfen @worker

Check.

## Größen

### Übersicht @worker

- when: steps.prufen.result != '' && steps["prufen"].status == 'completed'

{{steps.prufen.result}}

### Maße @worker

- each: ['x', steps.prufen.result]
- parallel: 1

{{item}}

## Lösen

- subflow: andere
- with: { told: "{{steps.ubersicht.result}}" }

## Freigabe

- approve: human
- edit: [ubersicht]
- on_reject: prufen
- max_rounds: 2

{{steps.prufen.result}}, {{steps.ubersicht.result}}

## Schluß @worker

- id: schluss
- when: steps.gro_en.status == 'completed' && steps.losen.status == 'completed'

End.`);
const OTHER = flow('## Öffnen\n\n- approve: human\n\nOpen?', 'input: { told: string }\n');
const EVAL = `---
name: e
description: Tests.
target: flows/f
trigger: manual
---

## Goes round

### Input

Go.

### Decisions

- losen/offnen: approve
- freigabe: reject
- freigabe: approve

### Expect

- status: completed
- step(prufen): contains: second
- step(losen/offnen): status: completed
- cel: steps.ubersicht.result == 'seen' && steps.gro_en.status == 'completed'

## Parks

### Input

Go.

### Expect

- parked-at: losen/offnen
`;
const FILES = { ...scripted(SCRIPT), 'flows/f.md': FLOW, 'flows/andere.md': OTHER, 'evals/e.md': EVAL };

test('a flow that names steps by the ids of earlier versions is deployed and runs to its end', async () => {
  const workspace = await app.workspace(FILES);
  const id = await app.start(workspace, 'f', { task: 'go' });
  const calls = await app.until(workspace, id, ({ waiting }) => waiting.some((one) => 'runId' in one));
  const child = calls.waiting.map((one) => ('runId' in one ? String(one.runId) : ''))[0] ?? '';
  await app.until(workspace, child, ({ waiting }) => waiting.length > 0);
  const opened = await app.post(`/api/workspaces/${workspace}/runs/${child}/approve`, { decision: 'approve' });
  expect([opened.status, await opened.text()]).toEqual([200, expect.anything()]);
  const asked = await app.until(workspace, id, ({ waiting }) => waiting[0]?.step === 5);
  expect(JSON.stringify(asked.waiting[0])).toContain('first, seen');
  const edited = await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, {
    decision: 'approve',
    edits: { uebersicht: 'corrected' },
  });
  expect([edited.status, await edited.text()]).toEqual([200, expect.anything()]);
  const run = await app.ended(workspace, id);
  expect(run.steps.map((step) => [step.id, step.status])).toEqual([
    ['pruefen', 'completed'],
    ['uebersicht', 'completed'],
    ['masse', 'completed'],
    ['loesen', 'completed'],
    ['freigabe', 'completed'],
    ['schluss', 'completed'],
  ]);
  expect(run.steps.at(-1)?.result).toContain('first');
});

test('the cases of an eval decide and see steps by the ids of earlier versions', async () => {
  const workspace = await app.workspace(FILES);
  const run = await evals.whole(workspace, 'e');
  expect(run.cases.map(({ error, assertions }) => [error, assertions.map(({ passed }) => passed)])).toEqual([
    [null, [true, true, true, true]],
    [null, [true]],
  ]);
});

test('an eval of a revision that an earlier version deployed names steps that got their ids by a change of the library', async () => {
  const workspace = await app.workspace(FILES);
  // The earlier version stored the ids that it gave; the library change compiled the plans with the current ones.
  const renamed = await app.deps.db.query(
    `UPDATE revision r SET index = jsonb_set(index, '{evals}', replace(replace(replace(replace(replace(index->>'evals', 'loesen', 'losen'),
        'oeffnen', 'offnen'), 'pruefen', 'prufen'), 'uebersicht', 'ubersicht'), 'groessen', 'gro_en')::jsonb)
      FROM workspace w WHERE w.id = r.workspace_id AND w.name = $1 AND w.tenant_id = $2 RETURNING r.index->>'evals' AS evals`,
    [workspace, app.tenant],
  );
  expect(JSON.stringify(renamed)).toContain('losen/offnen');
  const run = await evals.whole(workspace, 'e');
  expect(run.cases.map(({ error, assertions }) => [error, assertions.map(({ passed }) => passed)])).toEqual([
    [null, [true, true, true, true]],
    [null, [true]],
  ]);
});

test('a rerun with today’s revision takes over what steps made under the ids of earlier versions', async () => {
  const text = (id: (old: string) => string) =>
    flow(
      `## Prüfen @worker\n\n${id('prufen')}\n\nCheck.\n\n## Größen\n\n${id('gro_en')}\n\n### Übersicht @worker\n\n${id('ubersicht')}\n\nA.\n\n### Maße @worker\n\n${id('ma_e')}- each: ['x', 'y']\n\nB.\n\n## Ende @worker\n\n{{steps.prufen.result}}`,
    );
  const write = `- when: { step: prufen, turn: 1 }
  calls: [{ tool: Write, args: { path: outputs/a.md, content: A } }]
- when: { step: prufen }
  text: first
- text: other
- text: other
`;
  const workspace = await app.workspace({ ...scripted(write), 'flows/f.md': text((id) => `- id: ${id}\n`) });
  const old = await app.ended(workspace, await app.start(workspace, 'f'));
  expect([old.status, old.steps[0]?.id]).toEqual(['completed', 'prufen']);
  const put = await app.put(`/api/workspaces/${workspace}/source?path=flows/f.md`, { content: text(() => '') });
  expect(put.status).toBe(200);
  const body = { step: 4, with: 'current' };
  const begun = await app.post(`/api/workspaces/${workspace}/runs/${old.id}/rerun`, body);
  expect(begun.status).toBe(202);
  const run = await app.ended(workspace, ((await begun.json()) as { runId: string }).runId);
  expect(run.rerun).toMatchObject({ copied: [1, 2, 3], notCopied: [] });
  expect(run.steps.map((step) => [step.id, step.status, step.copied ?? false, step.result])).toEqual([
    ['pruefen', 'completed', true, 'first'],
    ['uebersicht', 'completed', true, 'other'],
    ['masse', 'completed', true, old.steps[2]?.result],
    ['ende', 'completed', false, 'other'],
  ]);
  expect(run.steps[0]?.files).toEqual(old.steps[0]?.files);
  const lanes = await app.deps.db.query<{ lane: string }>('SELECT DISTINCT lane FROM step WHERE run_id = $1', [run.id]);
  expect(lanes.map(({ lane }) => lane).join(' ')).toContain('main/groessen@1.2/masse@1.2');
  expect(lanes.map(({ lane }) => lane).join(' ')).not.toMatch(/gro_en|ma_e/);
});
