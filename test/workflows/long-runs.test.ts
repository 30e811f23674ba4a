import { createHash } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeCall, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { placeOfKey, smallModel } from '../support/small-model.js';
import { testTemporal } from '../support/temporal.js';

const TURNS = 500;
const CONTEXT = 8_000;
let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
  app = await createEngineApp({ models: smallModel(provider.url, CONTEXT) });
});
afterAll(() => provider.close());

const files = (frontmatter = '') => ({
  'agents/worker.md': `---\nname: worker\ndescription: Works.\n${frontmatter}---\n\nYou work.\n`,
  'knowledge/book.md': Array.from({ length: 6_000 }, (_, line) => `Line ${line + 1} of the book.`).join('\n'),
  'flows/f.md': flow('## One @worker\n\nRead it all.'),
});

function page(call: FakeCall) {
  const { turn, isSummary } = placeOfKey(call.idempotencyKey);
  const usage = { input: Math.ceil(call.prompt.length / 4), output: 20 };
  if (isSummary) return { text: 'So far I have read.', usage };
  if (turn === TURNS - 1) return { text: 'read it all', usage };
  const args = { path: 'knowledge/book.md', offset: turn * 12 + 1, limit: 12 };
  return { text: 'A note of mine. '.repeat(10), calls: [{ name: 'Read', args }], usage };
}

interface Transcript {
  readonly messages: readonly { readonly seq: number; readonly epoch: number; readonly why?: string }[];
  readonly next: string | null;
}

async function json<T>(path: string, as?: string): Promise<T> {
  const response = await app.request(path, as === undefined ? {} : { as });
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as T;
}

test('an agent of 500 turns ends well, its prompts within the context, and all it said is read in pages', async () => {
  provider.respond(page);
  const workspace = await app.workspace(files(`maxTurns: ${TURNS}\n`));
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect([run.status, run.error, run.summary]).toEqual(['completed', null, 'read it all']);

  expect(Math.max(...provider.calls.map(({ prompt }) => prompt.length / 4))).toBeLessThanOrEqual(CONTEXT);
  const turns = await app.deps.db.query<{ turn: number }>(
    `SELECT turn FROM call WHERE run_id = $1 AND kind = 'model' AND call = 0 ORDER BY turn`,
    [id],
  );
  expect(turns.map(({ turn }) => turn)).toEqual(Array.from({ length: TURNS }, (_, turn) => turn));

  // The run's view is a page, and says how much more there is.
  const [step] = run.steps;
  expect(step?.trace.length).toBe(200);
  expect(step?.traceTotal).toBeGreaterThan(1_900);
  expect(JSON.stringify(run).length).toBeLessThan(200_000);

  const at = `/api/workspaces/${workspace}/runs/${id}`;
  const viewer = await app.keyFor('viewer');
  const messages: Transcript['messages'][number][] = [];
  for (let cursor = ''; ; ) {
    const part = await json<Transcript>(`${at}/transcript?step=1&limit=200${cursor}`, viewer);
    messages.push(...part.messages);
    if (part.next === null) break;
    cursor = `&cursor=${part.next}`;
  }
  expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, index) => index));
  const epochs = messages.filter(({ why }) => why === 'compacted').map(({ epoch }) => epoch);
  expect(epochs).toEqual(epochs.map((_, index) => index + 1));
  expect(messages.length).toBe(TURNS * 2 - 1 + epochs.length);
  const one = await json<Transcript>(`${at}/transcript?step=one&epoch=1&limit=1`);
  expect(one.messages).toMatchObject([{ epoch: 1, why: 'compacted', role: 'user' }]);

  const seqs: number[] = [];
  for (let cursor = ''; ; ) {
    const part = await json<{ events: { seq: number }[]; next: string | null }>(
      `${at}/events?limit=200${cursor}`,
      viewer,
    );
    seqs.push(...part.events.map(({ seq }) => seq));
    if (part.next === null) break;
    cursor = `&cursor=${part.next}`;
  }
  expect(seqs).toEqual(Array.from({ length: run.lastSeq }, (_, index) => index + 1));
});

test('a transcript of a step that is not there, a cursor that is none and another’s run are refused', async () => {
  provider.respond(() => ({ text: 'ok' }));
  const workspace = await app.workspace(files());
  const at = `/api/workspaces/${workspace}/runs/${await app.start(workspace, 'f')}`;
  await app.ended(workspace, at.split('/').at(-1) ?? '');
  const status = async (path: string) => (await app.get(path)).status;
  expect(await status(`${at}/transcript?step=7`)).toBe(422);
  expect(await status(`${at}/transcript`)).toBe(422);
  expect(await status(`${at}/transcript?step=1&cursor=x`)).toBe(422);
  expect(await status(`${at}/events?cursor=x`)).toBe(422);
  expect(await status(`${at}/archive?agent=worker&path=outputs/none`)).toBe(404);
  expect(await status(`/api/workspaces/${workspace}/runs/none/transcript?step=1`)).toBe(404);
  expect((await json<Transcript>(`${at}/transcript?step=1`)).messages).toHaveLength(1);
});

const MIB = 1_048_576;

test('security 5: 50 MB written and printed by a program are archived and downloaded as a stream; rows and Temporal hold none of it', async () => {
  const command = "head -c 52428800 /dev/zero | tr '\\0' 'x' > outputs/big.html";
  const print = "head -c 52428800 /dev/zero | tr '\\0' 'y'";
  provider.respond((call) => {
    const { turn } = placeOfKey(call.idempotencyKey);
    if (turn > 1) return { text: 'made it' };
    return { calls: [{ name: 'Bash', args: { command: turn === 0 ? command : print } }] };
  });
  const workspace = await app.workspace(files());
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  expect(run.steps[0]?.files).toEqual([{ agent: 'worker', path: 'outputs/big.html', size: 50 * MIB }]);

  // What was printed is more than a program may print: the model is told so, in a few words of it.
  const [said] = await app.deps.db.query<{ text: string }>(
    `SELECT result->>'text' AS text FROM call WHERE run_id = $1 AND kind = 'tool' AND turn = 1`,
    [id],
  );
  expect(said?.text.length).toBeLessThanOrEqual(30_000);
  expect(said?.text).toMatch(/output|printed/i);

  const response = await app.get(`/api/workspaces/${workspace}/runs/${id}/archive?agent=worker&path=outputs/big.html`);
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-length': String(50 * MIB),
    'content-disposition': "attachment; filename*=UTF-8''big.html",
    'x-content-type-options': 'nosniff',
  });
  const hash = createHash('sha256');
  let size = 0;
  let longest = 0;
  for await (const chunk of response.body ?? []) {
    longest = Math.max(longest, chunk.length);
    size += chunk.length;
    hash.update(chunk);
  }
  expect(size).toBe(50 * MIB);
  expect(hash.digest('hex')).toBe(
    createHash('sha256')
      .update('x'.repeat(50 * MIB))
      .digest('hex'),
  );
  // What was held whole would come whole.
  expect(longest).toBeLessThanOrEqual(MIB);

  const [rows] = await app.deps.db.query<{ bytes: number }>(
    `SELECT (SELECT coalesce(sum(octet_length(content::text)), 0) FROM message WHERE run_id = $1)::int
      + (SELECT coalesce(sum(octet_length(data::text)), 0) FROM run_event WHERE run_id = $1)::int
      + (SELECT coalesce(sum(octet_length(result::text)), 0) FROM call WHERE run_id = $1)::int AS bytes`,
    [id],
  );
  expect(rows?.bytes).toBeLessThan(200_000);
  expect(await historyBytes(id)).toBeLessThan(20_000);
});

/** What Temporal holds of a run. */
async function historyBytes(id: string): Promise<number> {
  const { address, namespace } = testTemporal();
  const connection = await Connection.connect({ address });
  try {
    const { historySize } = await new Client({ connection, namespace }).workflow.getHandle(id).describe();
    return historySize ?? Number.POSITIVE_INFINITY;
  } finally {
    await connection.close();
  }
}

test('security 5: an input, an event and an answer as long as they may be go from step to step beside Temporal, never through it', async () => {
  const answer = `BEGIN ${'a'.repeat(3.5 * MIB)} END`;
  provider.respond(({ prompt }) => ({ text: prompt.includes('Write it') ? answer : 'short' }));
  const workspace = await app.workspace({
    // The most that a model may answer goes by its context.
    'agents/worker.md': '---\nname: worker\ndescription: Works.\nmodel: large\n---\n\nYou work.\n',
    'flows/f.md': flow('## Wait\n\n- wait: event\n\n## One @worker\n\nWrite it.\n\n## Two @worker\n\nGo on.'),
  });
  const id = await app.start(workspace, 'f', { task: 'i'.repeat(20_000) });
  const parked = await app.until(workspace, id, ({ waiting }) => waiting.length === 1);
  const url = new URL(parked.waiting[0]?.releaseUrl ?? '');
  const send = (characters: number) =>
    app.request(url.pathname + url.search, {
      method: 'POST',
      as: null,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ note: 'e'.repeat(characters) }),
    });
  expect((await send(11 * MIB)).status).toBe(413);
  expect((await send(MIB - 1_000)).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect([run.error, run.steps.map(({ status }) => status)]).toEqual([null, ['completed', 'completed', 'completed']]);
  expect(run.steps[1]?.result).toBe(answer);
  expect(JSON.stringify(run.steps[0]?.eventPayload).length).toBeGreaterThan(MIB - 1_000);
  // The next step is given the beginning and a path.
  expect(provider.calls.at(-1)?.prompt.length).toBeLessThan(60_000);
  expect(await historyBytes(id)).toBeLessThan(20_000);
});
