import { expect, test } from 'vitest';
import { createNet } from '../../src/platform/net/index.js';
import type { FakeAnswer } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { startRegistry } from '../support/package-registry.js';
import { createPlayedApp } from '../support/played-app.js';

const FLOW = { 'flows/f.md': flow('## One @worker\n\nDo it.') };

/** One turn of calls, then an answer. */
function once(
  calls: NonNullable<FakeAnswer['calls']>,
): (call: { body: { messages: { role: string }[] } }) => FakeAnswer {
  return ({ body }) => (body.messages.some(({ role }) => role === 'tool') ? { text: 'after' } : { calls });
}

test('a refused call is an event and a line of the trace with its reason, once, though its turn is gone over again', async () => {
  const { app, provider } = await createPlayedApp();
  provider.respond(
    once([
      { name: 'Nope', args: { a: 1 } },
      { name: 'Glob', raw: '{"pattern": ' },
      { name: 'Read', args: { wrong: true } },
      { name: 'Bash', args: { command: 'true' } },
    ]),
  );
  const workspace = await app.workspace({
    ...FLOW,
    'agents/worker.md': '---\ndescription: Works.\ntools: [Bash, Glob, Read]\napprove: [Bash]\n---\n\nYou work.\n',
  });
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  // The gate ends the advance: the next one goes over the same turn.
  const decided = await app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, {
    decision: 'reject',
    note: 'not today',
  });
  expect(decided.status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', steps: [{ result: 'after' }] });
  const refused = run.steps[0]?.trace.filter(({ kind }) => kind === 'tool.refused');
  expect(refused?.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^Nope was refused: there is no tool Nope\./),
    expect.stringMatching(/^Glob was refused: the arguments are not a JSON object/),
    expect.stringMatching(/^Read was refused: the arguments do not fit/),
    'Bash was refused: not approved: not today',
  ]);
  expect(refused?.[0]).toMatchObject({ name: 'Nope', args: '{"a":1}', turn: 0 });
  const sent = provider.calls.at(-1)?.body.messages.filter(({ role }: { role: string }) => role === 'tool');
  expect(sent).toHaveLength(4);
});

test('a call that failed says why in the trace, and work that cannot be handed on is refused', async () => {
  const { app, provider } = await createPlayedApp();
  provider.respond(
    once([
      { name: 'Read', args: { path: 'knowledge/none.md' } },
      { name: 'run_agent', args: { agent: 'helper', task: 'x' } },
    ]),
  );
  const workspace = await app.workspace({
    ...FLOW,
    'agents/worker.md': '---\ndescription: Works.\nagents: [helper]\n---\n\nYou work.\n',
    'agents/helper.md': '---\ndescription: Helps.\n---\n\nYou help.\n',
  });
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  const failed = run.steps[0]?.trace.find(({ kind, name }) => kind === 'tool.finished' && name === 'Read');
  expect(failed?.text).toMatch(/^Read failed in \d+ ms: .*none\.md/);
});

test('a server that does not start and a document that cannot be read are told, once each, and the step goes on', async () => {
  const { app, provider } = await createPlayedApp();
  provider.respond(once([{ name: 'Glob', args: { pattern: '*' } }]));
  const workspace = await app.workspace({
    ...FLOW,
    'flows/f.md': flow('## One @worker\n\n- retry: { max: 2, wait: 1s }\n\nDo it.\n\n## Two @worker\n\nGo on.'),
    'agents/worker.md': '---\ndescription: Works.\ntools: [Glob, broken]\n---\n\nYou work.\n',
    'tools/broken/tool.md': '---\ndescription: A server.\ncommand: node\nargs: [server.mjs]\n---\n',
    'tools/broken/server.mjs': "process.stderr.write('no configuration');\nprocess.exit(3);\n",
  });
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(run.status).toBe('completed');
  for (const step of run.steps) {
    const told = step.trace.filter(({ kind }) => kind === 'tool.unavailable');
    expect(told).toMatchObject([
      {
        name: 'broken',
        text: expect.stringMatching(/^the MCP server broken cannot be used in this step: .*no configuration/s),
      },
    ]);
  }
});

test('a run whose runtime is prepared runs, and shows what it prepares until that is done', async () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const registry = await startRegistry(() => opened);
  const net = createNet({ config: { allowHosts: [], version: '1' }, resolve: registry.resolve });
  const { app, provider } = await createPlayedApp(undefined, { deps: { net } });
  provider.respond(() => ({ text: 'done' }));
  const files = {
    ...FLOW,
    'agents/worker.md':
      '---\ndescription: Works.\ntools: [srv]\nruntime: { packages: ["npm:greet@1.0.0"] }\n---\n\nYou work.\n',
    'tools/srv/tool.md': '---\ndescription: A server.\ncommand: node\nargs: [server.mjs]\n---\n',
    'tools/srv/server.mjs': 'process.exit(0);\n',
  };
  const workspace = await app.workspace(files);
  const ids = [await app.start(workspace, 'f'), await app.start(workspace, 'f')];
  for (const id of ids) {
    const run = await app.until(workspace, id, ({ waiting }) => waiting.length > 0);
    expect(run).toMatchObject({
      status: 'running',
      waiting: [{ step: 1, id: 'one', kind: 'preparing', due: null, reason: 'prepares the runtime: greet@1.0.0' }],
      steps: [{ status: 'running' }],
    });
  }
  open();
  for (const id of ids) {
    const run = await app.ended(workspace, id);
    expect(run).toMatchObject({ status: 'completed', waiting: [] });
    const kinds = run.steps[0]?.trace.map(({ kind }) => kind).filter((kind) => kind.startsWith('sandbox.'));
    expect(kinds).toEqual(['sandbox.preparing', 'sandbox.prepared']);
  }
});
