import { expect, test } from 'vitest';
import { createContent } from '../../src/models/calling/content.js';
import { fromOpaque, toOpaque } from '../../src/models/calling/opaque.js';
import { fc } from '../support/properties.js';

/** An answer in these pieces: its text, what was told of it piece by piece, and its reasoning. */
function hear(pieces: readonly string[]) {
  let told = '';
  const content = createContent((text) => {
    told += text;
  });
  content.add({ type: 'text-start', id: 't' });
  for (const delta of pieces) content.add({ type: 'text-delta', id: 't', delta });
  const { text, parts } = content.end();
  const thought = parts.map((part) => (part.type === 'thought' ? part.text : '')).join('');
  return { text, told, thought, parts };
}

function inPieces(text: string, cuts: readonly number[]): string[] {
  const ends = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end));
}

const ANSWERS: [string, { text: string; thought: string }][] = [
  ['<think>It is tea.</think>\n\nTea.', { thought: 'It is tea.', text: 'Tea.' }],
  ['\n<think>\nIt is\n</think>\n{"a":1}', { thought: '\nIt is\n', text: '{"a":1}' }],
  ['<thinking>It is < 5</thinking>Tea.', { thought: 'It is < 5', text: 'Tea.' }],
  ['<THINK>a</Think>b', { thought: 'a', text: 'b' }],
  ['<think></think>\n\nTea.', { thought: '', text: 'Tea.' }],
  ['<think>a</think> <think>b</think> Tea.', { thought: 'ab', text: 'Tea.' }],
  ['<think>it never ends', { thought: 'it never ends', text: '' }],
  ['<think>İ</think>Tea.', { thought: 'İ', text: 'Tea.' }],
  ['  Tea <think>is</think> good. ', { thought: '', text: '  Tea <think>is</think> good. ' }],
  ['<thin', { thought: '', text: '<thin' }],
  ['<p>Tea</p>', { thought: '', text: '<p>Tea</p>' }],
  ['Close it with </think> at the end.', { thought: '', text: 'Close it with </think> at the end.' }],
  ['So:\n<think>\nx\n</think>\n', { thought: '', text: 'So:\n<think>\nx\n</think>\n' }],
  [' \n ', { thought: '', text: ' \n ' }],
  ['', { thought: '', text: '' }],
];
test.each(ANSWERS)('%j is told apart from its reasoning, in whatever pieces it comes', (answer, sorted) => {
  fc.assert(
    fc.property(fc.array(fc.nat()), (cuts) => {
      const { text, thought, told } = hear(inPieces(answer, cuts));
      expect({ text, thought }).toEqual(sorted);
      expect(sorted.text.endsWith(told)).toBe(true);
    }),
  );
});

test('reasoning whose open tag stood in the prompt is told by its close tag', () => {
  expect(hear(['It is tea.\n</think>\n\nTea.'])).toMatchObject({ thought: 'It is tea.', text: 'Tea.' });
});

test('a million tags cost no more than their length', () => {
  const { text } = hear(['<think></think>'.repeat(200_000), 'Tea.']);
  expect(text).toBe('Tea.');
});

test('a model that streams nothing but white space costs no more than its length', () => {
  const { thought, text } = hear([...Array.from({ length: 200_000 }, () => '\n '), 'Tea.']);
  expect([thought, text.trim()]).toEqual(['', 'Tea.']);
});

test('reasoning within the text is kept with the turn and not sent back', () => {
  const model = { name: 'm', provider: 'openai-compatible', id: 'm', contextTokens: 1_000, price: null } as const;
  const { text, parts } = hear(['<think>It is tea.</think>', 'Tea.']);
  const opaque = toOpaque(model, parts);
  expect(JSON.stringify(opaque)).toContain('It is tea.');
  const said = { role: 'assistant', text, calls: [], ...(opaque ? { opaque } : {}) } as const;
  expect(fromOpaque(model, said)).toEqual([{ type: 'text', text: 'Tea.' }]);
});
