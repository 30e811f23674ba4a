import { beforeAll, expect, test } from 'vitest';
import { mintKey } from '../../src/people/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';
import { createPerson } from '../support/sessions.js';
import { asPerson } from '../support/signed-in-cookie.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const SCRIPT = `- { when: { step: draft }, text: "a draft" }
- { when: { step: facts }, text: '{"total": 3}' }
- { when: { step: notes }, text: "a note" }
- { when: { step: send, contains: better }, text: "sent the edited" }
- { when: { step: send }, text: "sent the first" }
`;

const FACTS = '## Facts @worker\n\n- output: json\n\n```yaml schema\ntotal: integer\n```\n\nCount.';
const BODY = (gate: string, form = '') =>
  `## Draft @worker\n\nDraft.\n\n${FACTS}\n\n## Notes @worker\n\n- each: "[1, 2]"\n\nNote {{item}}.\n\n## Sign\n\n- approve: human\n${gate}\n${form}\nRight?\n\n## Send @worker\n\nSay {{steps.draft.result}}, {{steps.facts.data.total}}.`.replace(
    '"[1, 2]"',
    '[1, 2]',
  );

async function parked(gate: string, form = '') {
  const workspace = await app.workspace({ ...scripted(SCRIPT), 'flows/g.md': flow(BODY(gate, form)) });
  const id = await app.start(workspace, 'g');
  const run = await app.until(workspace, id, (one) => one.status === 'awaiting-approval');
  const at = `/api/workspaces/${workspace}/runs/${id}`;
  const decide = async (body: object, as?: string) => {
    const response = await app.post(`${at}/approve`, body, as === undefined ? {} : { as });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { workspace, id, run, decide };
}

const EDIT = '- edit: [draft, facts, notes]';

test('a decider edits what the gate names: later steps see it, and both versions stay in the run', async () => {
  const { workspace, id, run, decide } = await parked(EDIT);
  expect(run.waiting[0]).toMatchObject({
    title: 'Sign',
    need: 1,
    decided: 0,
    votes: [],
    approvers: ['human'],
    mayDecide: true,
    edit: [
      { step: 1, id: 'draft', result: 'a draft' },
      { step: 2, id: 'facts', data: { total: 3 }, schema: { required: ['total'] } },
      { step: 3, id: 'notes', data: ['a note', 'a note'] },
    ],
  });
  const edits = { draft: 'better', facts: { total: 5 }, notes: ['one', 'a note'] };
  expect((await decide({ decision: 'approve', edits })).status).toBe(200);
  const ended = await app.ended(workspace, id);
  const [draft, facts, notes, sign, send] = ended.steps;
  expect(send?.result).toBe('sent the edited');
  expect(draft).toMatchObject({ result: 'better', edits: [{ by: 'admin', result: 'a draft', data: null }] });
  expect(facts).toMatchObject({ data: { total: 5 }, edits: [{ result: '{"total": 3}', data: { total: 3 } }] });
  expect(notes).toMatchObject({ data: ['one', 'a note'], result: 'one\n\na note' });
  expect(draft?.trace.filter((line) => line.kind === 'step.edited')).toMatchObject([{ text: 'edited by admin' }]);
  expect(sign?.decision).toMatchObject({ decision: 'approve', edited: ['draft', 'facts', 'notes'] });
});

test('security 2: edits that do not fit are refused with every fault, and nothing is spent', async () => {
  const { workspace, id, decide } = await parked(EDIT);
  const bad = await decide({
    decision: 'approve',
    edits: { draft: 7, facts: { total: 'five' }, notes: ['one'], send: 'x' },
  });
  expect(bad.status).toBe(422);
  expect(bad.body.issues).toEqual([
    { path: 'edits.draft', message: 'the step makes text; give a text that is not empty' },
    { path: 'edits.facts', message: 'total must be integer' },
    { path: 'edits.notes', message: "give a list of the step's 2 items" },
    { path: 'edits.send', message: 'this gate lets you change draft, facts, notes and no other step' },
  ]);
  const rejected = await decide({ decision: 'reject', edits: { draft: 'x' } });
  expect([rejected.status, rejected.body.error]).toEqual([
    422,
    'edits: only an approval carries edits; say in the note what should change',
  ]);
  const run = await app.run(workspace, id);
  expect([run.status, run.steps[0]?.result, run.steps[0]?.edits]).toEqual(['awaiting-approval', 'a draft', undefined]);
  expect(run.steps.flatMap((step) => step.trace.filter((line) => line.kind === 'approval.decided'))).toEqual([]);
  // What a step made already is no edit.
  expect((await decide({ decision: 'approve', edits: { draft: 'a draft' } })).status).toBe(200);
  const ended = await app.ended(workspace, id);
  expect([ended.steps[0]?.edits, ended.steps[4]?.result]).toEqual([undefined, 'sent the first']);
});

test('a gate that names no step and has no form refuses both with a sentence', async () => {
  const { decide } = await parked('- need: 1');
  expect((await decide({ decision: 'approve', edits: { draft: 'x' } })).body.error).toBe(
    'edits.draft: no step may be changed at this gate; leave `edits` out',
  );
  expect((await decide({ decision: 'approve', form: { a: 1 } })).body.error).toBe(
    'form: this gate has no form; leave it out',
  );
  expect((await decide({ decision: 'approve', edit: { draft: 'x' } })).status).toBe(422);
});

const FORM = '\n```yaml form\namount: number\nreason?: string\n```\n';

test('a form is validated, is required where it has required fields, and lands in the decision', async () => {
  const { workspace, id, run, decide } = await parked('- need: 1', FORM);
  expect(run.waiting[0]?.form).toMatchObject({ required: ['amount'] });
  const empty = await decide({ decision: 'approve' });
  expect([empty.status, empty.body.error]).toEqual([422, 'form: amount is missing']);
  const wrong = await decide({ decision: 'approve', form: { amount: 'much', whom: 'me' } });
  expect(wrong.body.issues).toHaveLength(2);
  expect((await app.run(workspace, id)).status).toBe('awaiting-approval');
  expect((await decide({ decision: 'approve', form: { amount: 12.5 } })).status).toBe(200);
  expect((await app.ended(workspace, id)).steps[3]?.decision).toMatchObject({ form: { amount: 12.5 } });
});

const ORDERED: readonly (readonly [string, string, string])[] = [
  ['picoschema', 'yaml form', 'reason: string\nid: string\namount: number\nby?: string'],
  [
    'JSON Schema',
    'json form',
    '{"type":"object","properties":{"reason":{"type":"string"},"id":{"type":"object","properties":{"zeta":{"type":"string"},"a":{"type":"string"}}},"amount":{"type":"number"},"by":{"type":"string"}}}',
  ],
];

test.each(ORDERED)('a form keeps the order of its fields: %s', async (_name, info, body) => {
  const { run } = await parked('- need: 1', `\n\`\`\`${info}\n${body}\n\`\`\`\n`);
  const form = run.waiting[0]?.form as { properties: Record<string, { properties?: object }> };
  expect(Object.keys(form.properties)).toEqual(['reason', 'id', 'amount', 'by']);
  if (info === 'json form') expect(Object.keys(form.properties.id?.properties ?? {})).toEqual(['zeta', 'a']);
});

test('a rejection needs no form', async () => {
  const { workspace, id, decide } = await parked('- on_reject: continue', FORM);
  expect((await decide({ decision: 'reject', note: 'no' })).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run.steps[3]?.decision).toMatchObject({ decision: 'reject', form: null });
});

test('with need: 2 nothing changes before the gate is decided; then the votes’ edits apply in order', async () => {
  const { workspace, id, decide } = await parked(`${EDIT}\n- need: 2`);
  const first = await decide({ decision: 'approve', edits: { draft: 'good' }, note: 'one' });
  expect(first.body).toEqual({ ok: true, decided: 1, need: 2 });
  // The same again counts for nothing; other edits of the same person are refused.
  expect((await decide({ decision: 'approve', edits: { draft: 'good' } })).body).toEqual(first.body);
  expect((await decide({ decision: 'approve' })).body).toEqual(first.body);
  expect((await decide({ decision: 'approve', edits: { draft: 'worse' } })).status).toBe(409);
  const between = await app.run(workspace, id);
  expect(between.steps[0]?.result).toBe('a draft');
  expect(between.waiting[0]).toMatchObject({
    decided: 1,
    votes: [{ by: 'admin', note: 'one', edits: { draft: 'good' } }],
  });
  const editor = await app.keyFor('editor');
  expect((await decide({ decision: 'approve', edits: { draft: 'better' } }, editor)).body).toEqual({
    ok: true,
    decided: 2,
    need: 2,
  });
  const run = await app.ended(workspace, id);
  expect(run.steps[0]).toMatchObject({
    result: 'better',
    edits: [
      { by: 'admin', result: 'a draft' },
      { by: 'editor', result: 'good' },
    ],
  });
  expect(run.steps[3]?.trace.filter((line) => line.kind === 'approval.counted')).toHaveLength(1);
  expect(run.steps[3]?.decision).toMatchObject({ votes: [{ by: 'admin' }, { by: 'editor' }] });
});

test('a rejection after an approval ends the gate, adds to no count, and makes none of the edits', async () => {
  const { workspace, id, decide } = await parked(`${EDIT}\n- need: 2\n- on_reject: continue`);
  await decide({ decision: 'approve', edits: { draft: 'good' } });
  const editor = await app.keyFor('editor');
  expect((await decide({ decision: 'reject', note: 'no' }, editor)).body).toEqual({ ok: true, decided: 1, need: 2 });
  const run = await app.ended(workspace, id);
  expect([run.steps[0]?.result, run.steps[0]?.edits]).toEqual(['a draft', undefined]);
});

test('need: all takes every address, of persons and not of keys, however it is written', async () => {
  const [one, two] = [await createPerson(app), await createPerson(app)];
  const workspace = await app.workspace({
    ...scripted(SCRIPT),
    'flows/g.md': flow(
      `## Sign\n\n- approve: [${one.email}, ${two.email}, ${one.email.toUpperCase()}]\n- need: all\n\nRight?`,
    ),
  });
  const id = await app.start(workspace, 'g');
  const run = await app.until(workspace, id, (view) => view.status === 'awaiting-approval');
  expect(run.waiting[0]).toMatchObject({ need: 2, mayDecide: false });
  const at = `/api/workspaces/${workspace}/runs/${id}`;
  const minted = await mintKey(app.deps.db, { tenant: app.tenant, label: 'one', role: 'editor', mintedBy: one });
  for (const as of [app.key, minted.key])
    expect((await app.post(`${at}/approve`, { decision: 'approve' }, { as })).status).toBe(403);
  const first = await asPerson(app, one);
  expect(((await (await app.get(at, first)).json()) as typeof run).waiting[0]?.mayDecide).toBe(true);
  const counted = await app.post(`${at}/approve`, { decision: 'approve' }, first);
  expect(await counted.json()).toEqual({ ok: true, decided: 1, need: 2 });
  const decided = await app.post(`${at}/approve`, { decision: 'approve' }, await asPerson(app, two));
  expect(await decided.json()).toEqual({ ok: true, decided: 2, need: 2 });
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('self: false keeps the starter from deciding, and the run says so beforehand', async () => {
  const { workspace, id, run, decide } = await parked('- self: false');
  expect(run.waiting[0]?.mayDecide).toBe(false);
  expect((await decide({ decision: 'approve' })).body.error).toBe(
    'this gate is decided by human, but not the one who started the run',
  );
  expect((await decide({ decision: 'approve' }, await app.keyFor('editor'))).status).toBe(200);
  expect((await app.ended(workspace, id)).status).toBe('completed');
});

test('security 2: forty rival approvals with edits make one edit', async () => {
  const { workspace, id, decide } = await parked(EDIT);
  const keys = await Promise.all(Array.from({ length: 4 }, () => app.keyFor('editor')));
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      decide({ decision: 'approve', edits: { draft: `version ${n}` } }, keys[n % 4]),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const run = await app.ended(workspace, id);
  expect(run.steps[0]?.edits).toHaveLength(1);
  expect(run.steps[0]?.result).toBe(`version ${answers.findIndex(({ status }) => status === 200)}`);
});
