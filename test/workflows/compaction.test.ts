import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { type FakeAnswer, type FakeCall, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { placeOfKey, smallModel } from '../support/small-model.js';

const CONTEXT = 8_000;
let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
  app = await createEngineApp({ models: smallModel(provider.url, CONTEXT) });
});
afterAll(() => provider.close());

const files = (frontmatter = '', steps = '## One @worker\n\nRead it all.', options = '') => ({
  'agents/worker.md': `---\nname: worker\ndescription: Works.\n${frontmatter}---\n\nYou work.\n`,
  'knowledge/book.md': Array.from({ length: 2_000 }, (_, line) => `Line ${line + 1} of the book.`).join('\n'),
  'flows/f.md': flow(steps, options),
});

/** Four characters a token, as the provider counts them. */
const tokensOf = (call: FakeCall) => Math.ceil(call.prompt.length / 4);

/** Reads on, a page a turn, and is done at that turn. A context that is too long is refused, as real ones do. */
function reader(last: number, page = 100) {
  return (call: FakeCall): FakeAnswer => {
    const { turn, isSummary } = placeOfKey(call.idempotencyKey);
    const usage = { input: tokensOf(call), output: 20 };
    if (tokensOf(call) > CONTEXT) return overflow;
    if (isSummary) return { text: `SUMMARY before turn ${turn}: read pages.`, usage };
    if (turn >= last) return { text: `read ${turn} pages`, usage };
    const args = { path: 'knowledge/book.md', offset: turn * page + 1, limit: page };
    // What the model says itself never gives way to a path: only a summary makes room for it.
    return {
      text: `Page ${turn}. ${'A note of mine. '.repeat(40)}`,
      calls: [{ name: 'Read', args, id: `c${turn}` }],
      usage,
    };
  };
}

const overflow: FakeAnswer = {
  status: 400,
  body: '{"error":{"message":"This model’s maximum context length is 8000 tokens","code":"context_length_exceeded"}}',
};

interface Told {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

/** The ids of calls and results of a request, in their order. */
function pairs(call: FakeCall): { readonly asked: string[]; readonly answered: string[] } {
  const messages = call.body.messages as readonly Told[];
  return {
    asked: messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id)),
    answered: messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id])),
  };
}

async function rowsOf(id: string) {
  const [row] = await app.deps.db.query<{
    models: number;
    usage: number;
    spent: bigint;
    paid: bigint;
    gap: number;
    reserved: bigint;
  }>(
    `SELECT (SELECT count(*) FROM call WHERE run_id = r.id AND kind = 'model' AND state = 'finished')::int AS models,
      (SELECT count(*) FROM usage WHERE run_id = r.id)::int AS usage, spent_nano AS spent, reserved_nano AS reserved,
      (SELECT sum(nano) FROM usage WHERE run_id = r.id)::bigint AS paid,
      (SELECT max(seq) + 1 - count(*) FROM message WHERE run_id = r.id)::int AS gap FROM run r WHERE id = $1`,
    [id],
  );
  return row;
}

const compactions = (run: Awaited<ReturnType<EngineApp['ended']>>) =>
  run.steps.flatMap((step) => step.trace.filter(({ kind }) => kind === 'context.compacted'));

test('an agent whose work is longer than its model’s context goes on to its end: results give way, then turns to summaries', async () => {
  const before = provider.calls.length;
  provider.respond(reader(60));
  const workspace = await app.workspace(files('maxTurns: 100\n'));
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect([run.status, run.error, run.summary]).toEqual(['completed', null, 'read 60 pages']);

  const calls = provider.calls.slice(before);
  const summaries = calls.filter(({ idempotencyKey }) => placeOfKey(idempotencyKey).isSummary);
  expect(summaries.length).toBeGreaterThan(1);
  // Never more than the context, never a call without its result, never a turn that was asked for twice.
  expect(Math.max(...calls.map(tokensOf))).toBeLessThanOrEqual(CONTEXT);
  for (const call of calls) expect(pairs(call).answered).toEqual(pairs(call).asked);
  expect([...provider.byKey().values()].every((times) => times === 1)).toBe(true);
  const last = calls.at(-1);
  expect(last?.prompt).toContain('SUMMARY before turn');
  expect(last?.prompt).toContain('Read it all.');
  expect(summaries.at(-1)?.prompt).toContain('SUMMARY before turn');

  // It is told, and paid like any other call.
  const told = compactions(run);
  expect(told.length).toBeGreaterThanOrEqual(summaries.length);
  for (const line of told) expect(Number(line.to)).toBeLessThan(Number(line.from));
  const rows = await rowsOf(id);
  expect(rows).toMatchObject({ models: calls.length, usage: calls.length, gap: 0, reserved: 0n });
  expect(rows?.spent).toBe(rows?.paid);
});

test('a result that gave way is read whole at the path that stands in its place', async () => {
  const path = /\[saved: (saved\/result-\d+-\d+\.txt)\]/;
  let asked: string | null = null;
  provider.respond((call) => {
    const found = path.exec(call.prompt)?.[1];
    const { isSummary, turn } = placeOfKey(call.idempotencyKey);
    if (isSummary) return { text: 'S' };
    if (asked !== null) return { text: 'done' };
    if (found === undefined) return reader(99)(call);
    asked = found;
    return { calls: [{ name: 'Read', args: { path: found, offset: 1, limit: 2 }, id: `saved${turn}` }] };
  });
  const workspace = await app.workspace(files());
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect([run.status, run.summary]).toEqual(['completed', 'done']);
  const last = provider.calls.at(-1)?.body.messages.at(-1) as Told;
  expect(last.content).toMatch(/^Line \d+ of the book\.\nLine \d+ of the book\.$/);
});

test('a provider that says the context is too long has it compacted once, and the step goes on', async () => {
  let refused = 0;
  provider.respond((call) => {
    const { turn } = placeOfKey(call.idempotencyKey);
    if (turn === 4 && refused === 0) {
      refused += 1;
      return overflow;
    }
    return reader(6, 60)(call);
  });
  const workspace = await app.workspace(files());
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect([run.status, run.summary]).toEqual(['completed', 'read 6 pages']);
  expect(compactions(run)).toHaveLength(1);
  expect(await rowsOf(id)).toMatchObject({ gap: 0, reserved: 0n });
});

test('one that still says so after that fails the step with a sentence that says what to do', async () => {
  provider.respond((call) => {
    const { turn, isSummary } = placeOfKey(call.idempotencyKey);
    return turn === 4 && !isSummary ? overflow : reader(6, 60)(call);
  });
  const workspace = await app.workspace(files());
  const id = await app.start(workspace, 'f');
  const run = await app.ended(workspace, id);
  expect(run.error).toMatch(
    /does not fit into the context of small \(8000 tokens\), not even after it was compacted: shorten/,
  );
  expect(compactions(run)).toHaveLength(1);
  expect(await rowsOf(id)).toMatchObject({ reserved: 0n });
});

test('an instruction that alone is too long fails at once, without a compaction', async () => {
  provider.respond(reader(3));
  const workspace = await app.workspace(files('', `## One @worker\n\n${'Read every word of it. '.repeat(2_000)}`));
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(run.error).toMatch(/does not fit into the context of small \(8000 tokens\): shorten the instruction/);
  expect(compactions(run)).toHaveLength(0);
});

test('turns are counted, and the same call is seen to repeat, over compactions', async () => {
  provider.respond((call) => {
    if (placeOfKey(call.idempotencyKey).isSummary) return { text: 'S' };
    return {
      calls: [{ name: 'Read', args: { path: 'knowledge/book.md', offset: 1, limit: 200 } }],
      usage: { input: tokensOf(call), output: 20 },
    };
  });
  const workspace = await app.workspace(files());
  const run = await app.ended(workspace, await app.start(workspace, 'f'));
  expect(run.error).toContain('stuck: Read was called 6 times in a row');
  expect(compactions(run).length).toBeGreaterThan(0);

  provider.respond(reader(1_000));
  const long = await app.workspace(files('maxTurns: 20\n'));
  const cut = await app.ended(long, await app.start(long, 'f'));
  expect(cut.error).toContain('no answer after 20 turns');
  expect(compactions(cut).length).toBeGreaterThan(0);
});
