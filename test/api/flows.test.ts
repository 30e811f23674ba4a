import { beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { bodyOf, createWorkspaceApp, SMALL, type WorkspaceApp } from '../support/workspace-app.js';

const FLOW = `---
description:   'Answers'   # ours
trigger: manual
---

The brief.

## First @writer

- timeout: 5m

Do   the  first.

## Both

### Left @writer

L.

### Right @writer

* retry: 2

R.

## Last @writer

Do the last.
`;
const FILES = { ...SMALL, 'flows/f.md': FLOW, 'flows/sub.md': '---\ndescription: S.\n---\n\n## Only @writer\n\nO.\n' };

let app: WorkspaceApp;
beforeAll(async () => {
  app = await createWorkspaceApp({ routes });
});

const at = (workspace: string, flow = 'f') => `/api/workspaces/${workspace}/flows/${flow}`;
async function textOf(workspace: string, path = 'flows/f.md'): Promise<string> {
  return (await bodyOf(app.get(`/api/workspaces/${workspace}/source?path=${path}`))).content;
}

test('the flows are listed by name with what they are, and one of them with its steps', async () => {
  const { name } = await app.workspace(FILES);
  const list = await bodyOf(app.get(`/api/workspaces/${name}/flows?limit=2`));
  expect(list.flows.map((flow: { name: string }) => flow.name)).toEqual(['f', 'hello']);
  expect(list.flows[0]).toEqual({
    name: 'f',
    path: 'flows/f.md',
    description: 'Answers',
    trigger: ['manual'],
    enabled: true,
    steps: 4,
    agents: ['writer'],
    schedule: null,
    lastRun: null,
    issues: [],
  });
  const rest = await bodyOf(app.get(`/api/workspaces/${name}/flows?limit=2&cursor=${list.next}`));
  expect([rest.flows.map((flow: { name: string }) => flow.name), rest.next]).toEqual([['sub'], null]);
  const flow = await bodyOf(app.get(at(name)));
  expect(flow.groups).toEqual([[1], [2, 3], [4]]);
  expect(flow.steps[2]).toEqual({
    n: 3,
    id: 'right',
    title: 'Right',
    agent: 'writer',
    subflow: null,
    group: 'both',
    options: { retry: '2' },
    instruction: 'R.',
    schemas: [],
    line: 20,
  });
  expect(flow.steps[0]).toMatchObject({ options: { timeout: '5m' }, instruction: 'Do   the  first.' });
});

describe('each edit changes only its bytes', () => {
  const CASES: readonly [string, object, string, string][] = [
    ['an instruction', { step: 1, instruction: 'Other.' }, 'Do   the  first.', 'Other.'],
    ['an option', { step: 1, options: { timeout: '9m' } }, 'timeout: 5m', 'timeout: 9m'],
    ['an option as GET spells it', { step: 3, options: { retry: '3' } }, 'retry: 2', 'retry: 3'],
    ['a map as a file spells it', { step: 3, options: { retry: '{ max: 3 }' } }, 'retry: 2', 'retry: { max: 3 }'],
    [
      'a subflow, which takes the agent’s place',
      { step: 2, subflow: 'sub' },
      'Left @writer\n',
      'Left\n\n- subflow: sub\n',
    ],
    [
      'a step at the end',
      { title: 'More', target: 'writer', instruction: 'M.' },
      'last.\n',
      'last.\n\n## More @writer\n\nM.\n',
    ],
    [
      'a step before another',
      { title: 'More', target: 'writer', before: 1 },
      '## First',
      '## More @writer\n\n## First',
    ],
    [
      'a step without a title',
      { instruction: 'Write it up.', target: 'writer' },
      'last.\n',
      'last.\n\n## Write it up @writer\n\nWrite it up.\n',
    ],
    [
      'a trigger',
      { trigger: { trigger: 'schedule', cron: '0 9 * * 1' } },
      'trigger: manual\n',
      'trigger: schedule\ncron: "0 9 * * 1"\n',
    ],
    ['a switch', { enabled: false }, 'trigger: manual\n', 'trigger: manual\nenabled: false\n'],
  ];
  test.each(CASES)('%s', async (_, body, before, after) => {
    const { name } = await app.workspace(FILES);
    const response = await app.patch(at(name), body);
    expect([response.status, await textOf(name)]).toEqual([200, FLOW.replace(before, after)]);
  });

  test('an option that goes takes its list along', async () => {
    const { name } = await app.workspace(FILES);
    expect((await app.patch(at(name), { step: 3, options: { retry: null } })).status).toBe(200);
    expect(await textOf(name)).toBe(FLOW.replace('* retry: 2\n\n', ''));
  });

  test('steps in another order keep their text, and one that is removed leaves the others', async () => {
    const { name } = await app.workspace(FILES);
    const moved = await bodyOf(app.patch(at(name), { groups: [[4], [1], [2, 3]] }));
    expect(moved.steps.map((step: { title: string }) => step.title)).toEqual(['Last', 'First', 'Left', 'Right']);
    expect(await textOf(name)).toContain('Do   the  first.');
    const left = await bodyOf(app.delete(`${at(name)}?step=1`));
    expect(left.steps.map((step: { title: string }) => step.title)).toEqual(['First', 'Left', 'Right']);
    const history = await bodyOf(app.get(`/api/workspaces/${name}/history?limit=1`));
    expect(history.changes[0]).toMatchObject({ via: 'edit', message: 'Edit flows/f', paths: ['flows/f.md'] });
  });
});

test('an order in which a condition comes before what it reads is refused with the issue of a deploy', async () => {
  const text = `${FLOW}\n## Check @writer\n\n- when: steps.first.status == 'completed'\n\nCheck.\n`;
  const { name } = await app.workspace({ ...FILES, 'flows/f.md': text });
  const response = await app.patch(at(name), { groups: [[5], [1], [2, 3], [4]] });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ issues: [{ code: 'step/forward-read', path: 'flows/f.md' }] });
  expect(await textOf(name)).toBe(text);
});

test.each<[string, object]>([
  ['an agent that is not there', { step: 1, target: 'nobody' }],
  ['a flow that is not there', { step: 1, subflow: 'nothing' }],
  ['a step that is not there', { step: 9, instruction: 'x' }],
  ['an option that is none', { step: 1, options: { timeuot: '5m' } }],
  ['a step with two doers', { title: 'Two', target: 'writer', subflow: 'sub' }],
  ['a step that nobody does', { title: 'Nobody' }],
  ['a heading in an instruction', { step: 1, instruction: '## Another @writer\n\nx' }],
  ['an order that leaves a step out', { groups: [[1], [2, 3]] }],
  ['a trigger that lacks its keys', { trigger: 'schedule' }],
  ['a key that is none of a trigger', { trigger: { budget: 1 } }],
  ['an order and a step at once', { groups: [[1], [2, 3], [4]], step: 1, instruction: 'x' }],
  ['nothing', {}],
  ['a step of which nothing is to change', { step: 1 }],
  ['an unknown key', { stp: 1 }],
])('%s is refused, and nothing changes', async (_, body) => {
  const { name } = await app.workspace(FILES);
  const response = await app.patch(at(name), body);
  expect([response.status, (await bodyOf(response)).error]).toEqual([422, expect.stringMatching(/./)]);
  expect(await textOf(name)).toBe(FLOW);
});

test('a step that is sent back as it was read changes no byte, and a wrapped option is set', async () => {
  const text = [
    '---\ndescription:   D # d\n---\n\n## First @writer\n',
    "- when: input.x == 'a' &&\n  input.y == 'b'",
    '- retry:   { max: 3,  wait: 30s }\n- output: json\n- timeout: 5m # why\n',
    'Before.\n\n```yaml schema\na: string\n```\n\nBehind.\n',
  ].join('\n');
  const { name } = await app.workspace({ ...FILES, 'flows/f.md': text });
  const read = await bodyOf(app.get(at(name)));
  const [{ agent: target, subflow, options, instruction }] = read.steps;
  const back = { step: 1, target, subflow, options, instruction, description: read.description, trigger: read.trigger };
  const answer = await app.patch(at(name), back);
  expect([answer.status, await textOf(name)]).toEqual([200, text]);
  expect((await app.patch(at(name), { groups: read.groups })).status).toBe(200);
  expect((await bodyOf(app.get(at(name)))).revision).toBe(read.revision);
  expect((await app.patch(at(name), { step: 1, options: { when: 'true', timeout: '10m' } })).status).toBe(200);
  const edited = text.replace("input.x == 'a' &&\n  input.y == 'b'", 'true').replace('5m # why', '10m # why');
  expect(await textOf(name)).toBe(edited);
});

test('a flow with CRLF is edited in place, options under a tight heading and a new step too', async () => {
  const text = '---\ndescription: D.\n---\n\n## First @writer\nDo it.\n'.replaceAll('\n', '\r\n');
  const { name } = await app.workspace({ ...FILES, 'flows/f.md': text });
  expect((await app.patch(at(name), { step: 1, options: { timeout: '5m' } })).status).toBe(200);
  expect((await app.post(at(name), { title: 'Next', target: 'writer' })).status).toBe(200);
  expect(await textOf(name)).toBe(
    `${text.replace('@writer\r\n', '@writer\r\n\r\n- timeout: 5m\r\n\r\n')}\r\n## Next @writer\r\n`,
  );
});

test('a misspelt ?step= deletes nothing, and the step of a body is the one that goes', async () => {
  const { name } = await app.workspace(FILES);
  const misspelt = await app.delete(`${at(name)}?setp=1`);
  expect([misspelt.status, (await bodyOf(misspelt)).error]).toEqual([
    422,
    'query.setp: unknown key; did you mean "step"?',
  ]);
  const remove = (body: object) =>
    app.request(at(name), {
      method: 'DELETE',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await remove({ setp: 1 })).status).toBe(422);
  const another = await app.request(`${at(name)}?step=1`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json' },
    body: '{"step":2}',
  });
  expect([another.status, (await bodyOf(another)).error]).toEqual([
    422,
    'body.step: it is 2, and 1 in the query; give one',
  ]);
  expect(await textOf(name)).toBe(FLOW);
  expect((await remove({ step: 4 })).status).toBe(200);
  expect(await textOf(name)).toBe(FLOW.slice(0, FLOW.indexOf('\n## Last')));
});

test('a removal without a body may name a type, as clients do by themselves', async () => {
  const { name } = await app.workspace(FILES);
  const headers = { 'content-type': 'application/json' };
  const gone = await app.request(`${at(name)}?step=4`, { method: 'DELETE', headers });
  expect([gone.status, await textOf(name)]).toEqual([200, FLOW.slice(0, FLOW.indexOf('\n## Last'))]);
  expect((await app.request(at(name), { method: 'DELETE', headers })).status).toBe(200);
  expect((await app.get(at(name))).status).toBe(404);
  const { id } = await bodyOf(app.post('/api/keys', { label: 'k', role: 'viewer' }));
  expect((await app.request(`/api/keys?id=${id}`, { method: 'DELETE', headers })).status).toBe(200);
});

test('half a surrogate pair in an edit is refused and not stored as another sign', async () => {
  const { name } = await app.workspace(FILES);
  for (const body of [
    { step: 1, instruction: 'a\uD83Db' },
    { title: 'a\uDE00', target: 'writer', instruction: 'x' },
  ])
    expect((await app.patch(at(name), body)).status).toBe(422);
  expect(await textOf(name)).toBe(FLOW);
});

test('edits at once both count, a stale If-Match is refused, a repeat under its key is made once', async () => {
  const { name } = await app.workspace(FILES);
  const first = await app.get(at(name));
  const tag = first.headers.get('etag') ?? '';
  const sent = await Promise.all(
    [1, 2, 3, 4].map((step) => app.patch(at(name), { step, instruction: `New ${step}.` })),
  );
  expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const text = await textOf(name);
  for (const n of [1, 2, 3, 4]) expect(text).toContain(`New ${n}.`);
  const stale = await app.patch(at(name), { step: 1, instruction: 'x' }, { headers: { 'if-match': tag } });
  expect(stale.status).toBe(412);
  const headers = { 'idempotency-key': `k-${name}` };
  const add = { title: 'More', target: 'writer' };
  const made = [await app.post(at(name), add, { headers }), await app.post(at(name), add, { headers })];
  expect(await made[1]?.json()).toEqual(await made[0]?.json());
  expect((await textOf(name)).match(/## More/g)).toHaveLength(1);
});

test('a flow is created once, and deleted unless something needs it', async () => {
  const { name } = await app.workspace({
    ...FILES,
    'flows/main.md': '---\ndescription: M.\n---\n\n## Sub\n\n- subflow: sub\n',
  });
  const create = (body: object) => app.post(`/api/workspaces/${name}/flows`, body);
  expect((await create({ name: 'new', agent: 'writer', description: 'A "new" one: yes' })).status).toBe(201);
  expect((await bodyOf(app.get(at(name, 'new')))).description).toBe('A "new" one: yes');
  expect((await create({ name: 'new' })).status).toBe(409);
  for (const body of [
    { name: 'New One' },
    { name: '../x' },
    { name: 'x', agent: 'nobody' },
    { name: 'x', pattern: 'y' },
  ]) {
    expect([body, (await create(body)).status]).toEqual([body, 422]);
  }
  const needed = await app.delete(at(name, 'sub'));
  expect([needed.status, (await bodyOf(needed)).issues[0].code]).toEqual([422, 'ref/subflow']);
  expect(await bodyOf(app.delete(at(name, 'new')))).toEqual({ ok: true, name: 'new' });
  expect((await app.get(at(name, 'new'))).status).toBe(404);
  expect((await app.delete(at(name, 'new'))).status).toBe(404);
});
