import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';
import { createPerson } from '../support/sessions.js';
import { asPerson } from '../support/signed-in-cookie.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

const WORKER = { 'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n' };
const write = (path: string) => ({ name: 'Write', args: { path, content: `of ${path}` } });

test('what a call left is told after the call, and what it wrote to memory too', async () => {
  provider.respond(({ idempotencyKey }) =>
    idempotencyKey?.endsWith('/0')
      ? {
          calls: [
            write('outputs/a.md'),
            { name: 'Bash', args: { command: 'echo b > files/b.md' } },
            write('memory/worker/m.md'),
          ],
        }
      : { text: 'done' },
  );
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow('## One @worker\n\nGo.') });
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(run).toMatchObject({ status: 'completed', error: null });
  const trace = run.steps[0]?.trace ?? [];
  const at = (kind: string, has: object) =>
    trace.findIndex((line) => line.kind === kind && Object.entries(has).every(([key, value]) => line[key] === value));
  const [firstEnd, secondWrite] = [
    at('tool.finished', {}),
    trace.findLastIndex((line) => line.kind === 'file.written'),
  ];
  expect(firstEnd).toBeGreaterThan(0);
  expect(at('file.written', { path: 'outputs/worker/a.md' })).toBeGreaterThan(firstEnd);
  expect(secondWrite).toBeGreaterThan(firstEnd);
  expect(at('memory.written', { path: 'memory/worker/m.md' })).toBeGreaterThan(firstEnd);
  // A file is told by the call that left it, or by one that ended beside it: never before any end.
  expect(trace.findIndex((line) => line.kind === 'file.written')).toBeGreaterThan(firstEnd);
  expect(run.memoryWrites).toEqual(['memory/worker/m.md']);
});

test('a fresh attempt is told which acting calls are done, which failed, and of which nobody knows', async () => {
  provider.respond(({ idempotencyKey }) => {
    const [, , , , attempt, turn] = (idempotencyKey ?? '').split('/');
    if (attempt === '2') return { text: 'second attempt' };
    if (turn === '0') return { calls: [write('outputs/done.md')] };
    if (turn === '1') return { calls: [{ name: 'Bash', args: { command: 'echo half; exit 3' } }] };
    return turn === '2' ? { calls: [write('outputs/cut.md')] } : { status: 400, body: 'broken' };
  });
  const workspace = await app.workspace({
    ...WORKER,
    'flows/f.md': flow('## One @worker\n\n- retry: { max: 2, wait: 2s }\n\nGo.'),
  });
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.steps[0]?.attempts === 2);
  // As a worker that was killed in it leaves it.
  const cut = `UPDATE call SET state = 'interrupted' WHERE run_id = $1 AND attempt = 1 AND turn = 2 AND call = 1`;
  await app.deps.db.query(cut, [id]);
  expect(await app.ended(workspace, id)).toMatchObject({ status: 'completed', error: null });
  const told = String(
    provider.calls.at(-1)?.body.messages.find((one: { role: string }) => one.role === 'user').content,
  );
  const line = (marker: string) => told.split('\n').find((text) => text.includes(marker)) ?? '';
  expect(line('outputs/done.md')).toContain('already did: Write');
  expect(line('exit 3')).toContain('ended with an error');
  expect(line('outputs/cut.md')).toContain('interrupted');
  expect(line('outputs/cut.md')).toContain('unknown whether it was done');
  expect(line('outputs/cut.md')).not.toContain('already did');
});

test('a further decider who decides before the clock has told of it is told first, once', async () => {
  const body = '## Sign\n\n- approve: [ada@example.com]\n- escalate: { after: 1h, to: role:admin }\n\nOK?';
  const workspace = await app.workspace({ ...WORKER, 'flows/f.md': flow(body) });
  const id = await app.start(workspace, 'f');
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  const admin = await asPerson(app, await createPerson(app, 'admin'));
  const at = `/api/workspaces/${workspace}/runs/${id}/approve`;
  expect((await app.post(at, { decision: 'approve' }, admin)).status).toBe(403);
  // The hour is over, and its timer has not fired.
  await app.deps.db.query(
    `UPDATE park SET opened_at = opened_at - interval '2 hours', escalate_at = escalate_at - interval '2 hours' WHERE run_id = $1`,
    [id],
  );
  expect((await app.post(at, { decision: 'approve' }, admin)).status).toBe(200);
  const run = await app.ended(workspace, id);
  const kinds = run.steps[0]?.trace.map((line) => line.kind).filter((kind) => kind.startsWith('approval.'));
  expect(kinds).toEqual(['approval.requested', 'approval.escalated', 'approval.decided']);
});
