import { expect, test } from 'vitest';
import type { ChatMessage, ModelError, ModelRequest } from '../../src/models/contract.js';
import { parseScript } from '../../src/models/index.js';
import { ask, modelsOf, modelsOfFile, nothingConfigured } from '../support/models-fixture.js';

const models = modelsOf(nothingConfigured);
const [model] = models.resolve('scripted/demo', {});

const place = { yaml: null as string | null, agent: 'clerk', step: 'draft', round: 1, turn: 0 };
const play = (
  yaml: string | null,
  at: Partial<typeof place> & { attempt?: number; input?: string } = {},
  more: Partial<ModelRequest> = {},
) => models.call(ask(model, { ...more, script: { ...place, yaml, ...at } }));
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: ModelError) => error,
  );

const heard = (text: string): ChatMessage[] => [
  { role: 'user', text: 'Count the orders.' },
  { role: 'assistant', text: '', calls: [{ id: 'c', name: 'Read', args: {} }] },
  { role: 'tool', results: [{ callId: 'c', name: 'Read', text, isError: false }] },
];

test('turns are played in order, anew in each step and round', async () => {
  const yaml = '- text: one\n- text: two';
  expect((await play(yaml)).text).toBe('one');
  expect((await play(yaml, { turn: 1 })).text).toBe('two');
  expect((await play(yaml, { step: 'review', round: 2 })).text).toBe('one');
});

test('a turn too many is refused with what to add', async () => {
  const error = await failureOf(play('- text: one', { turn: 1 }));
  expect(error).toMatchObject({ kind: 'refused' });
  expect(error?.message).toContain('agents/clerk/script.yaml has no turn for step draft, round 1, turn 2: add one');
});

test('a turn whose `when` matches comes first, and takes no place in the order', async () => {
  const yaml = `
- when: { step: review, round: 2 }
  text: approved
- text: one
- when: { contains: refund }
  text: about the refund
- text: two
- when: { turn: 3 }
  text: third
- when: { step: 4, attempt: 2 }
  text: again
`;
  expect((await play(yaml)).text).toBe('one');
  expect((await play(yaml, { turn: 1 })).text).toBe('two');
  expect((await play(yaml, { turn: 2 })).text).toBe('third');
  expect((await play(yaml, { step: 'review' })).text).toBe('one');
  expect((await play(yaml, { step: 'review', round: 2 })).text).toBe('approved');
  expect((await play(yaml, {}, { messages: heard('a refund of 5') })).text).toBe('about the refund');
  expect((await play(yaml, {}, { messages: [{ role: 'user', text: 'refund?' }] })).text).toBe('about the refund');
  expect((await play(yaml, { step: '4' })).text).toBe('one');
  expect((await play(yaml, { step: '4', attempt: 2 })).text).toBe('again');
});

test('calls carry their arguments, with what was found and asked filled in', async () => {
  const yaml = `
- text: "I have {{last}} of {{input}}."
  calls:
    - { tool: Write, args: { path: outputs/a.md, lines: ["{{ last }}", 2, { deep: "{{input}}" }] } }
    - { tool: Read }
`;
  const reply = await play(yaml, { input: 'orders {{last}}' }, { messages: heard('12') });
  expect(reply.text).toBe('I have 12 of orders {{last}}.');
  expect(reply.finish).toBe('tool-calls');
  expect(reply.calls).toMatchObject([
    { name: 'Write', args: { path: 'outputs/a.md', lines: ['12', 2, { deep: 'orders {{last}}' }] } },
    { name: 'Read', args: {} },
  ]);
  expect(new Set(reply.calls.map(({ id }) => id)).size).toBe(2);
});

test('without an input the first user message stands for it', async () => {
  expect((await play('- text: "{{input}}"')).text).toBe('Say something.');
});

test('text comes word by word, byte for byte', async () => {
  const text = '  First  line.\n\n- second\tline \n';
  const pieces: string[] = [];
  const reply = await play(JSON.stringify([{ text }]), {}, { onDelta: (piece) => pieces.push(piece) });
  expect(reply.text).toBe(text);
  expect(pieces.join('')).toBe(text);
  expect(pieces).toHaveLength(5);
});

test('delayMs is how long the whole turn takes', async () => {
  const startedMs = performance.now();
  await play('- { text: one two three four, delayMs: 120 }');
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(115);
});

test('a stop within the delay ends the turn at once', async () => {
  const stop = new AbortController();
  const pieces: string[] = [];
  const onDelta = (piece: string) => {
    pieces.push(piece);
    stop.abort();
  };
  const error = await failureOf(play('- { text: one two, delayMs: 1200 }', {}, { signal: stop.signal, onDelta }));
  expect(error?.kind).toBe('aborted');
  expect(pieces).toEqual(['one']);
});

test.each(['overloaded', 'transient', 'refused', 'overflow'])('error: %s fails the call so', async (kind) => {
  expect(await failureOf(play(`- { error: ${kind}, text: the kettle is cold }`))).toMatchObject({ kind });
  expect((await failureOf(play(`- { error: ${kind}, text: the kettle is cold }`)))?.message).toContain(
    'the kettle is cold',
  );
});

test('usage is what the script says, else reckoned and flagged', async () => {
  const told = await play('- { text: hello, usage: { input: 1200, output: 80, cached: 1000 } }');
  expect(told).toMatchObject({ usage: { input: 1_200, output: 80, cached: 1_000 }, estimated: false });
  const reckoned = await play('- { text: hello }');
  expect(reckoned).toMatchObject({ usage: { output: 2, cached: 0 }, estimated: true });
  expect(reckoned.usage.input).toBeGreaterThan(0);
});

test('the scripted provider is free, unless the operator gives it prices to try budgets with', async () => {
  expect(await play('- { text: hi }')).toMatchObject({ costNano: 0n, costSource: 'table' });
  const priced = modelsOfFile('models: { dear: { provider: scripted, model: demo, priceIn: 1000, priceOut: 2000 } }');
  const script = { ...place, yaml: '- { text: hi, usage: { input: 10, output: 5 } }' };
  const reply = await priced.call(ask(priced.resolve('dear', {})[0], { script }));
  expect(reply).toMatchObject({ costNano: 20_000_000n, costSource: 'operator' });
});

test('an agent without a script says that no model wrote its answer', async () => {
  const messages: ChatMessage[] = [{ role: 'user', text: '\nCount the orders.\nThen stop.' }];
  expect((await play(null, {}, { messages })).text).toBe(
    '[scripted] No model wrote this. Step draft asked clerk: Count the orders.',
  );
  expect((await models.call(ask(model))).text).toMatch(/^\[scripted\] /);
});

test('where JSON was asked for, an agent without a script answers the least that matches', async () => {
  const schema = {
    type: 'object',
    properties: { ok: { type: 'boolean' }, why: { type: 'string' } },
    required: ['ok', 'why'],
  };
  const reply = await play(null, {}, { schema });
  expect(JSON.parse(reply.text)).toEqual({ ok: true, why: '[scripted]' });
  expect((await play(null, {}, { schema: { not: {} } })).text).toMatch(/^\[scripted\] /);
});

test.each([
  ['- text: a\n- txet: b', 'line 2: turn 2 has no key `txet`. Did you mean `text`?'],
  ['- text: a\n\n- when:\n    stpe: x', 'line 4: turn 2 when has no key `stpe`. Did you mean `step`?'],
  ['- calls:\n    - { tool: Read, arg: {} }', 'line 2: turn 1 calls 0 has no key `arg`. Did you mean `args`?'],
  ['- error: broken', 'line 1: turn 1 error'],
  ['- delayMs: -1', 'line 1: turn 1 delayMs'],
  ['- text: 5', 'line 1: turn 1 text'],
  ['text: a', 'line 1: the file: is a list of turns'],
  ['- text: "a', 'line 1:'],
  ['- &a [*a]\n- *b', 'is not valid YAML'],
  ['- text: a\n  text: b', 'line 2:'],
])('a script of %j is refused by line', async (yaml, words) => {
  expect(() => parseScript(yaml, 'agents/clerk/script.yaml')).toThrow(words);
  const error = await failureOf(play(yaml));
  expect(error?.kind).toBe('refused');
  expect(error?.message).toContain(words);
});

test('security 16: a script that unfolds without end is refused in a moment', () => {
  const bomb = Array.from(
    { length: 12 },
    (_, i) =>
      `- &a${i} [${Array(9)
        .fill(i === 0 ? '1' : `*a${i - 1}`)
        .join(', ')}]`,
  );
  expect(() => parseScript(bomb.join('\n'), 's')).toThrow('is not valid YAML');
  expect(() => parseScript(`- text: ${'a'.repeat(300_000)}`, 's')).toThrow('longer than 256 KiB');
});

test('an empty script has no turns', () => {
  expect(parseScript('', 's')).toEqual([]);
  expect(parseScript('# nothing yet\n', 's')).toEqual([]);
  expect(parseScript('- text: a\n- when: { round: 2 }', 's').map(({ line }) => line)).toEqual([1, 2]);
});
