import { beforeAll, expect, test } from 'vitest';
import { DELTA_CHANNEL } from '../../src/engine/index.js';
import type { Db } from '../../src/platform/db/index.js';
import { type StreamItem, streamRun } from '../../src/runs/stream-run.js';
import type { Caller } from '../../src/shared/roles.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';

let app: EngineApp;
beforeAll(async () => {
  app = await createEngineApp();
});

const caller = (): Caller => ({
  tenant: app.tenant,
  role: 'admin',
  workspaces: null,
  actor: { kind: 'person', id: app.owner.id, label: app.owner.email },
  person: app.owner,
  signedIn: true,
  address: null,
});

interface Item {
  readonly event: string;
  readonly id: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: each event has a shape of its own
  readonly data: any;
}

const GATE = '## One @worker\n\nA.\n\n## Gate\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nB.';
const SCRIPT = '- { when: { step: one }, text: "several words that come one by one", delayMs: 900 }\n- { text: end }\n';

async function started(body = GATE) {
  const workspace = await app.workspace({ ...scripted(SCRIPT), 'flows/s.md': flow(body) });
  const id = await app.start(workspace, 's');
  return { workspace, id, at: `/api/workspaces/${workspace}/runs/${id}` };
}

/** Reads a stream until `enough` holds or it ends; then hangs up. */
async function read(path: string, enough: (items: readonly Item[]) => boolean, headers: Record<string, string> = {}) {
  const hangUp = new AbortController();
  const response = await app.get(path, { headers, signal: hangUp.signal });
  const items: Item[] = [];
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let ended = reader === undefined;
  while (!ended && !enough(items)) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    ended = done;
    text += value ?? '';
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    items.push(...blocks.flatMap(parse));
  }
  hangUp.abort();
  await reader?.cancel().catch(() => undefined);
  return { status: response.status, headers: response.headers, items, ended };
}

function parse(block: string): Item[] {
  const fields = new Map(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const event = fields.get('event');
  const id = fields.get('id');
  return event
    ? [{ event, id: id === undefined ? null : Number(id), data: JSON.parse(fields.get('data') ?? 'null') }]
    : [];
}

const isParked = (items: readonly Item[]) => items.some((item) => item.event === 'approval.requested');

test('a stream begins with a snapshot, tells every event once and in order, and ends with the run', async () => {
  const { workspace, id, at } = await started();
  const whole = read(`${at}/stream`, () => false);
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await app.post(`${at}/approve`, { decision: 'approve' });
  const { status, headers, items, ended } = await whole;
  expect([status, ended, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    true,
    'text/event-stream',
    'no-cache',
  ]);
  expect(items[0]?.event).toBe('snapshot');
  expect(items[0]?.data).toMatchObject({ id, steps: expect.any(Array) });
  expect(items.at(-1)?.event).toBe('end');
  const seqs = items.flatMap((item) => (item.id === null ? [] : [item.id]));
  const from = items[0]?.data.lastSeq + 1;
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, n) => from + n));
  expect((await app.run(workspace, id)).lastSeq).toBe(seqs.at(-1));
  const deltas = items.filter((item) => item.event === 'delta').map((item) => item.data.text);
  expect(deltas.join('')).toContain('words that come one by one');
  const lastOf = (event: string) => items.findLastIndex((item) => item.event === event && item.data.step === 'one');
  expect(lastOf('delta')).toBeLessThan(lastOf('step.completed'));
  expect(items.filter((item) => item.event === 'delta').every((item) => item.id === null)).toBe(true);
});

test('a stream that was cut resumes after the last seq it saw, without a gap or a repeat', async () => {
  const { at } = await started();
  const first = await read(`${at}/stream`, (items) => items.filter((item) => item.id !== null).length >= 2);
  const seen = first.items.findLast((item) => item.id !== null)?.id ?? 0;
  const rest = await read(`${at}/stream`, isParked, { 'last-event-id': String(seen) });
  expect(rest.items.some((item) => item.event === 'snapshot')).toBe(false);
  const seqs = rest.items.flatMap((item) => (item.id === null ? [] : [item.id]));
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, n) => seen + 1 + n));
});

test('a stream stays open while the run is parked, and goes on when it is released', async () => {
  const { workspace, id, at } = await started();
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  let begun = (): void => undefined;
  const open = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const rest = read(`${at}/stream`, (items) => {
    if (items.length > 0) begun();
    return false;
  });
  await open;
  const early = await Promise.race([rest.then(() => 'ended'), app.run(workspace, id).then(() => 'open')]);
  expect(early).toBe('open');
  await app.post(`${at}/approve`, { decision: 'approve' });
  const { items } = await rest;
  expect(items.map((item) => item.event)).toEqual(
    expect.arrayContaining(['snapshot', 'approval.decided', 'run.completed', 'end']),
  );
});

test('a reconnect past the end is 204, a run of somebody else’s is 404', async () => {
  const { workspace, id, at } = await started('## One @worker\n\nA.');
  const run = await app.ended(workspace, id);
  expect((await app.get(`${at}/stream?after=${run.lastSeq}`)).status).toBe(204);
  const late = await read(`${at}/stream`, () => false);
  expect(late.items.map((item) => item.event)).toEqual(['snapshot', 'end']);
  const other = await createEngineApp({ worker: false });
  expect((await other.get(`${at}/stream`)).status).toBe(404);
});

test('runs are listed newest first, in pages, and found by flow, status and tag', async () => {
  const workspace = await app.workspace({
    ...scripted('- { text: x }\n'),
    'flows/a.md': flow('## One @worker\n\nA.'),
    'flows/b.md': flow('## Gate\n\n- approve: human\n\nOK?'),
  });
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(await app.start(workspace, n < 4 ? 'a' : 'b', { tags: [`n${n}`] }));
  await app.until(workspace, ids[4] ?? '', (run) => run.status === 'awaiting-approval');
  const list = async (query: string) =>
    (await (await app.get(`/api/workspaces/${workspace}/runs?${query}`)).json()) as {
      runs: { id: string }[];
      next: string | null;
    };
  const first = await list('limit=3');
  const second = await list(`limit=3&cursor=${first.next}`);
  expect([...first.runs, ...second.runs].map((run) => run.id)).toEqual([...ids].reverse());
  expect(second.next).toBe(null);
  expect((await list('flow=b')).runs.map((run) => run.id)).toEqual([ids[4]]);
  expect((await list('status=awaiting-approval')).runs).toHaveLength(1);
  expect((await list('tag=n2')).runs.map((run) => run.id)).toEqual([ids[2]]);
  expect((await app.get(`/api/workspaces/${workspace}/runs?cursor=nonsense`)).status).toBe(422);
});

test('20 starts at once with one idempotency key are one run', async () => {
  const workspace = await app.workspace({ ...scripted('- { text: x }\n'), 'flows/a.md': flow('## One @worker\n\nA.') });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      app.post(`/api/workspaces/${workspace}/flows/a/run`, { task: 't' }, { headers: { 'idempotency-key': 'once' } }),
    ),
  );
  expect(answers.every((answer) => answer.status === 202 || answer.status === 409)).toBe(true);
  const [row] = await app.deps.db.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM run r JOIN workspace w ON w.id = r.workspace_id WHERE w.name = $1 AND w.tenant_id = $2',
    [workspace, app.tenant],
  );
  expect(row?.n).toBe(1);
});

test('security 18: what a program says is streamed as it says it, without secrets, bounded, and told as its call’s', async () => {
  const command =
    'echo first $CANARY; sleep 0.4; head -c 300000 /dev/zero | tr "\\\\0" x; sleep 0.4; echo $CANARY last';
  const script = `- { calls: [{ tool: Bash, args: { command: '${command}' } }] }\n- { text: end }\n`;
  const workspace = await app.workspace({
    ...scripted(script, { 'flows/s.md': flow('## One @worker\n\nA.') }, 'secrets: [CANARY]\n'),
  });
  await app.put('/api/secrets', { name: 'CANARY', value: 'hush-hush-hush' });
  const id = await app.start(workspace, 's');
  // Nothing is lost at the run's end, so this is all that is ever streamed of the call.
  const { items } = await read(`/api/workspaces/${workspace}/runs/${id}/stream`, () => false);
  expect(items.at(-1)?.event).toBe('end');
  const output = items.filter(({ event }) => event === 'output');
  expect(output[0]?.data).toMatchObject({ step: 'one', turn: 0, call: 1 });
  const text = output.map(({ data }) => data.text).join('');
  expect(text).toMatch(/^first \[secret CANARY\]\nx+\n\[… what follows is in the result\]\n$/);
  expect(text.length).toBeGreaterThan(60_000);
  expect(text.length).toBeLessThan(70_000);
});

test('a program’s last output comes before the end of the stream, also when the end is read before it arrives', async () => {
  const script =
    "- { calls: [{ tool: Bash, args: { command: 'echo first; sleep 0.4; echo last' } }] }\n- { text: end }\n";
  const workspace = await app.workspace({ ...scripted(script), 'flows/s.md': flow('## One @worker\n\nA.') });
  const id = await app.start(workspace, 's');
  const { db, isReleased } = heldUntilEnd(app.deps.db);
  const input = { workspace, runId: id, after: 0, signal: new AbortController().signal };
  const stream = await streamRun({ ...app.deps, db }, caller(), input);
  const items: StreamItem[] = [];
  for await (const item of stream ?? []) items.push(item);
  expect(isReleased()).toBe(true);
  const output = items.filter(({ event }) => event === 'output').map(({ data }) => (data as { text: string }).text);
  expect([output.join(''), items.at(-1)?.event]).toEqual(['first\nlast\n', 'end']);
  const events = items.map(({ event }) => event);
  expect(events.lastIndexOf('output')).toBeLessThan(events.indexOf('step.completed'));
});

test('text that arrives after the end of its step is not streamed, also to a client that resumes after that end', async () => {
  const { workspace, id, at } = await started();
  const parked = await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  const late = (step: string) =>
    app.deps.db.notify(
      DELTA_CHANNEL,
      JSON.stringify({ runId: id, step, item: 0, round: 1, kind: 'delta', text: `late ${step}` }),
    );
  // A step that no event ends shows that the text before it has arrived.
  const isMarked = (items: readonly Item[]) => items.some(({ data }) => data.text === 'late gate');
  const streams = [read(`${at}/stream`, isMarked), read(`${at}/stream?after=${parked.lastSeq}`, isMarked)];
  const sendUntilRead = async (): Promise<readonly Item[]> => {
    const all = Promise.all(streams);
    let isRead = false;
    const done = all.finally(() => {
      isRead = true;
    });
    await expect
      .poll(async () => {
        await late('one');
        await late('gate');
        return isRead;
      })
      .toBe(true);
    return (await done).flatMap(({ items }) => items);
  };
  const texts = (await sendUntilRead()).filter(({ event }) => event === 'delta').map(({ data }) => data.text);
  expect(new Set(texts)).toEqual(new Set(['late gate']));
});

/** A database whose notifications arrive only after a stream has read that its step or run has ended. */
function heldUntilEnd(real: Db): { readonly db: Db; readonly isReleased: () => boolean } {
  const held: (() => void)[] = [];
  let released = false;
  const release = () => {
    released = true;
    for (const deliver of held.splice(0)) deliver();
  };
  const db: Db = {
    ...real,
    listen: (channel, onPayload) =>
      real.listen(channel, (payload) => (released ? onPayload(payload) : void held.push(() => onPayload(payload)))),
    query: async <T>(...args: Parameters<Db['query']>) => {
      const rows = await real.query<T>(...args);
      const isLook = typeof args[0] !== 'string' && args[0].name === 'stream-look';
      const isEnd = (row: { ended?: boolean; type?: string }) => row.ended || row.type === 'step.completed';
      if (isLook && rows.some((row) => isEnd(row as object))) setImmediate(release);
      return rows;
    },
  };
  return { db, isReleased: () => released };
}
