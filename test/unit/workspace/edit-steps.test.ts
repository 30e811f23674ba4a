import { describe, expect, test } from 'vitest';
import { changeFlow, type FlowChange } from '../../../src/format/edit/change-flow.js';
import { contentOf, mapFlow, partsOf } from '../../../src/format/edit/flow-map.js';
import { insertStep } from '../../../src/format/edit/insert-step.js';
import { regroup } from '../../../src/format/edit/regroup.js';
import { removeStep } from '../../../src/format/edit/remove-step.js';
import { setAgent } from '../../../src/format/edit/set-agent.js';
import { setInstruction } from '../../../src/format/edit/set-instruction.js';
import { setOptions } from '../../../src/format/edit/set-options.js';
import type { Json } from '../../../src/shared/json.js';
import { fc, runs } from '../../support/properties.js';
import { SAMPLE } from './edit-sample.js';

type Result = ReturnType<typeof setOptions>;
const done = (edited: Result) => {
  if (!edited.ok) throw new Error(edited.reason);
  return edited.text;
};
const reason = (edited: Result) => (edited.ok ? 'it was made' : edited.reason);
const voteText = (text: string) => {
  const map = mapFlow(text);
  return map ? partsOf(map).map((part) => contentOf(text, part)) : [];
};

test('the sample has the steps that the cases below count on', () => {
  expect(mapFlow(SAMPLE)?.steps.map(({ n, heading }) => `${n} ${heading.title}`)).toEqual([
    '1 Read the request',
    '2 Order history',
    '3 Delivery status',
    '4 Draft it',
    '5 writer',
    '6 Sign off',
  ]);
});

describe('an option is set or removed on its own line', () => {
  test.each<[number, Readonly<Record<string, Json>>, string, string]>([
    [1, { output: 'text' }, '- output: json\n- retry', '- output: text\n- retry'],
    [1, { retry: 2 }, '- retry:   { max: 3,  wait: 30s }', '- retry:   2'],
    [1, { output: null }, '- output: json\n- retry', '- retry'],
    [1, { timeout: '5m' }, 'wait: 30s }\n', 'wait: 30s }\n- timeout: 5m\n'],
    [1, { retry: null, timeout: '5m' }, '- retry:   { max: 3,  wait: 30s }\n', '- timeout: 5m\n'],
    [1, { when: "input.x == 'a: #b'" }, 'wait: 30s }\n', "wait: 30s }\n- when: input.x == 'a: #b'\n"],
    [2, { output: null }, '* output: json\n\n', ''],
    [2, { id: 'history' }, '* output: json\n', '* output: json\n* id: history\n'],
    [3, { on_fail: 'continue' }, '@courier-analyst\n', '@courier-analyst\n\n- on_fail: continue\n'],
    [4, { output: 'json' }, '## Draft it ##\n', '## Draft it ##\n\n* output: json\n'],
    [5, { tools: ['a', 'b.c'] }, '## @writer\n', '## @writer\n\n- tools: [a, b.c]\n'],
    [
      6,
      { approve: ['role:admin', 'a@b.example'], timeout: null },
      '- approve: human\n- timeout: 2d\n',
      '- approve: ["role:admin", a@b.example]\n',
    ],
    [6, { approve: null, timeout: null }, '- approve: human\n- timeout: 2d\n\n', ''],
  ])('step %i: %j', (n, options, from, to) => {
    expect(SAMPLE).toContain(from);
    expect(done(setOptions(SAMPLE, n, options))).toBe(SAMPLE.replace(from, () => to));
  });

  test.each<[string, number, Readonly<Record<string, Json>>, string]>([
    [SAMPLE, 9, { id: 'x' }, 'There is no step 9'],
    [SAMPLE, 1, { 'not a key': 1 }, 'cannot be an option'],
    [SAMPLE, 1, { when: 'a\nb' }, 'on one line'],
    [SAMPLE, 1, { when: { a: 1 } }, 'on one line'],
    ['## A\n\n- id: a\n- stray\n', 1, { id: 'b' }, 'fix it first'],
    ['---\na: 1\n', 1, { id: 'b' }, 'cannot be read'],
  ])('is refused with a reason (%#)', (text, n, options, why) => {
    expect(reason(setOptions(text, n, options))).toContain(why);
  });

  test('at the end of a file without a last line end', () => {
    expect(done(setOptions('## A @b\n\n- id: a', 1, { output: 'json' }))).toBe('## A @b\n\n- id: a\n- output: json\n');
    expect(done(setOptions('## A @b', 1, { output: 'json' }))).toBe('## A @b\n\n- output: json');
    expect(done(setOptions('## A @b\nText.', 1, { output: 'json' }))).toBe('## A @b\n\n- output: json\n\nText.');
  });
});

describe('an instruction is replaced', () => {
  test.each<[number, string, string, string]>([
    [3, 'Ask {{input.x}}.', 'Find the parcel.', 'Ask {{input.x}}.'],
    [6, 'Check it.\n\n- one\n- two', 'Check {{steps.draft_it.result}}.', 'Check it.\n\n- one\n- two'],
    [4, 'Plain.', '- a list that is\n- instruction\n\nWords.', 'Plain.'],
    [5, 'Write.', '## @writer\n', '## @writer\n\nWrite.\n'],
    [1, 'Read.', 'Read the message from {{input.email}}.\nTwo lines, *with* marks: \\@nobody.', 'Read.'],
  ])('step %i', (n, wanted, from, to) => {
    const expected = SAMPLE.replace(from, () => to);
    expect(done(setInstruction(SAMPLE, n, wanted))).toBe(
      n === 1 ? expected.replace('And a last word.\n\n', '') : expected,
    );
  });

  test('an empty one leaves the rest of the step', () => {
    expect(done(setInstruction(SAMPLE, 3, ''))).toBe(SAMPLE.replace('Find the parcel.\n\n', ''));
  });

  test.each([
    ['## A new step'],
    ['Fine.\n\n### A branch'],
    ['```\nnot closed'],
    ['<!-- not closed'],
    ['- output: text'],
  ])('%j is refused, since it would change the steps', (wanted) => {
    expect(reason(setInstruction(SAMPLE, 6, wanted))).toContain('more than the instruction');
  });
});

describe('an agent is set at the end of the heading', () => {
  test.each<[number, string | null, string, string]>([
    [1, 'reader', '## Read the request @triager', '## Read the request @reader'],
    [1, null, '## Read the request @triager', '## Read the request'],
    [4, 'writer', '## Draft it ##', '## Draft it @writer ##'],
    [5, null, '## @writer', '## writer'],
    [5, 'editor', '## @writer', '## writer @editor'],
    [6, null, '## Sign off', '## Sign off'],
  ])('step %i: %s', (n, agent, from, to) => {
    expect(done(setAgent(SAMPLE, n, agent))).toBe(SAMPLE.replace(from, to));
  });

  test('a name that is none is refused', () =>
    expect(reason(setAgent(SAMPLE, 1, 'A B'))).toContain('not a valid agent name'));
});

describe('a step is added', () => {
  const step = { title: 'New one', agent: 'writer', options: { output: 'json' }, instruction: 'Do it.' };
  const text = '## New one @writer\n\n- output: json\n\nDo it.\n';

  test('at the end', () => {
    expect(done(insertStep(SAMPLE, step))).toBe(`${SAMPLE}\n${text}`);
    expect(done(insertStep('', step))).toBe(text);
    expect(done(insertStep('# T', step))).toBe(`# T\n\n${text}`);
  });
  test('before a step', () =>
    expect(done(insertStep(SAMPLE, step, 6))).toBe(SAMPLE.replace('## Sign off', () => `${text}\n## Sign off`)));
  test('before a group, when the step is its first branch', () => {
    expect(done(insertStep(SAMPLE, step, 2))).toBe(SAMPLE.replace('## Gather facts', () => `${text}\n## Gather facts`));
  });
  test('as a branch, before a later branch', () => {
    expect(done(insertStep(SAMPLE, step, 3))).toBe(SAMPLE.replace('### Delivery', () => `#${text}\n### Delivery`));
  });
  test.each<[Parameters<typeof insertStep>[1], string]>([
    [{ title: ' ' }, 'needs a title'],
    [{ title: 'A', agent: 'Not One' }, 'not a valid agent name'],
    [{ title: 'A `b` c' }, 'would not read back'],
    [{ title: 'A @b c' }, 'it was made'],
    [{ title: 'A', instruction: '## B' }, 'would not read back'],
    [{ title: 'A', options: { until: '' } }, 'on one line'],
  ])('%j: %s', (bad, why) => expect(reason(insertStep(SAMPLE, bad))).toContain(why));
});

describe('a step is removed, heading to heading', () => {
  test.each<[number, string, string]>([
    [1, '## Read the request', '## Gather facts'],
    [3, '### Delivery status', '## Draft it'],
    [5, '## @writer', '## Sign off'],
  ])('step %i', (n, from, to) => {
    expect(done(removeStep(SAMPLE, n))).toBe(SAMPLE.slice(0, SAMPLE.indexOf(from)) + SAMPLE.slice(SAMPLE.indexOf(to)));
  });
  test('the last one', () =>
    expect(done(removeStep(SAMPLE, 6))).toBe(`${SAMPLE.slice(0, SAMPLE.indexOf('## @writer'))}## @writer\n`));
  test('a group whose only branch it is goes too', () => {
    expect(done(removeStep('## A @a\n\n## G\n\n### B @b\n\n## C @c\n', 2))).toBe('## A @a\n\n## C @c\n');
  });
  test('the only step stays', () => expect(reason(removeStep('## A @a\n', 1))).toContain('only step'));
});

describe('steps are rearranged', () => {
  const flow = '# T\n\n## A @a\n\n- id: a\n\n1\n\n## B @b\n\n2\n\n## C @c\n\n3\n';
  test.each<[number[][], string]>([
    [[[1], [2], [3]], flow],
    [[[2], [1], [3]], '# T\n\n## B @b\n\n2\n\n## A @a\n\n- id: a\n\n1\n\n## C @c\n\n3\n'],
    [[[1], [3], [2]], '# T\n\n## A @a\n\n- id: a\n\n1\n\n## C @c\n\n3\n\n## B @b\n\n2\n'],
    [[[1], [2, 3]], '# T\n\n## A @a\n\n- id: a\n\n1\n\n## In parallel\n\n### B @b\n\n2\n\n### C @c\n\n3\n'],
  ])('%j', (groups, expected) => expect(done(regroup(flow, groups))).toBe(expected));

  test('a group that stays keeps its heading and options', () => {
    const text = done(regroup(SAMPLE, [[2, 3, 1], [4], [5], [6]]));
    expect(text).toContain(
      "## Gather facts\n\n- when: steps.read.data.verdict != 'refuse'\n\nFor all branches.\n\n### Order history",
    );
    expect(mapFlow(text)?.groups.map(({ first, count }) => [first, count])).toEqual([[1, 3]]);
  });
  test('as it was, nothing changes', () => expect(done(regroup(SAMPLE, [[1], [2, 3], [4], [5], [6]]))).toBe(SAMPLE));
  test('a dissolved group that has `when` is refused', () => {
    expect(reason(regroup(SAMPLE, [[1], [2], [3], [4], [5], [6]]))).toContain('would be lost');
  });
  test.each([[[[1]]], [[[1], [2], [3], [3]]], [[[1], [2], [4]]], [[[1], [2], [3], []]]])('%j is refused', (groups) => {
    expect(reason(regroup(flow, groups))).toContain('each of the 3 steps once');
  });
});

describe('a file with CRLF is edited as one with LF', () => {
  const tight = '# T\n## A @a\nText.\n\n## B @b\n- id: b\n\n## C @c\n- one\n- two\n';
  const changes: readonly FlowChange[] = [
    { kind: 'edit', step: 1, options: { timeout: '5m' } },
    { kind: 'edit', step: 1, subflow: 'sub' },
    { kind: 'edit', step: 1, instruction: 'New.' },
    { kind: 'edit', step: 2, options: { id: null } },
    { kind: 'edit', step: 2, instruction: 'Two\nlines.' },
    { kind: 'edit', step: 3, options: { output: 'json' } },
    { kind: 'insert', title: 'New', target: 'a' },
    { kind: 'insert', title: 'New', target: 'a', before: 2, instruction: 'Two\nlines.' },
    { kind: 'remove', step: 1 },
    { kind: 'remove', step: 3 },
    { kind: 'regroup', groups: [[3], [1, 2]] },
  ];
  const inCrlf = (text: string) => text.replaceAll('\n', '\r\n');
  test.each(changes.map((change) => [change] as const))('%j', (change) => {
    for (const text of [tight, tight.trimEnd(), SAMPLE]) {
      const edited = changeFlow(text, change);
      expect(changeFlow(inCrlf(text), change)).toEqual(edited.ok ? { ok: true, text: inCrlf(edited.text) } : edited);
    }
  });

  test('text right under its heading gets its options, and a new step its blank line', () => {
    expect(done(setOptions(inCrlf(tight), 1, { timeout: '5m' }))).toBe(
      inCrlf(tight.replace('@a\n', '@a\n\n- timeout: 5m\n\n')),
    );
    expect(done(insertStep('## A @a\r\n\r\nX.\r\n', { title: 'B', agent: 'b' }))).toBe(
      '## A @a\r\n\r\nX.\r\n\r\n## B @b\r\n',
    );
  });
});

describe('blanks at the end of a line are its own', () => {
  const flow = '## A @a\n\nOne.  \n\n## B @b\nTwo.  \n## C @c\n\nThree.  \n';
  test('when the step behind them goes', () =>
    expect(done(removeStep(flow, 3))).toBe('## A @a\n\nOne.  \n\n## B @b\nTwo.  \n'));
  test('when steps change places', () =>
    expect(done(regroup(flow, [[3], [2], [1]]))).toBe('## C @c\n\nThree.  \n\n## B @b\nTwo.  \n\n## A @a\n\nOne.  \n'));
});

test('two hundred thousand blanks, within a line or at its end, take no time by their square', () => {
  const blanks = ' '.repeat(200_000);
  const moved = (a: string) => `## B @b\n\n2\n\n## A @a\n\n${a}\n`;
  for (const line of [`a${blanks}b`, `a${blanks}`]) {
    expect(done(regroup(`## A @a\n\n${line}\n\n## B @b\n\n2\n`, [[2], [1]])) === moved(line)).toBe(true);
  }
  // No title is so long.
  expect(reason(setAgent(`## A${blanks}b\n`, 1, 'c'))).toContain('would read otherwise');
});

const lineEnds = fc.constantFrom('\n', '\r\n');
const marks = fc.constantFrom('', '\uFEFF');
const file = fc.tuple(lineEnds, marks).map(([lineEnd, mark]) => mark + SAMPLE.replaceAll('\n', lineEnd));
const words = fc
  .array(
    fc.constantFrom(
      'word',
      '{{input.x}}',
      '\n',
      '\n\n',
      '- a',
      '## h',
      '`',
      '```',
      '<!--',
      '-->',
      ' ',
      '@x',
      '# t',
      '> q',
      '1. n',
      '\\',
      '*b*',
      '    code',
    ),
    { maxLength: 8 },
  )
  .map((all) => all.join(''));

test('an instruction that is taken changes no other step, no option and no byte outside the step', () => {
  fc.assert(
    fc.property(file, fc.integer({ min: 1, max: 6 }), words, (text, n, wanted) => {
      const edited = setInstruction(text, n, wanted);
      if (!edited.ok) return;
      checkOnly(text, edited.text, n);
    }),
    runs(20),
  );
});

test('options that are taken change no other step and no byte outside the step', () => {
  const keys = fc.constantFrom('id', 'output', 'retry', 'timeout', 'approve', 'when', 'with');
  const options = fc.dictionary(
    keys,
    fc.oneof(fc.constant(null), fc.string(), fc.integer(), fc.constant({ a: ['{{input.x}}', 1] })),
    { minKeys: 1, maxKeys: 3 },
  );
  fc.assert(
    fc.property(file, fc.integer({ min: 1, max: 6 }), options, (text, n, wanted) => {
      const edited = setOptions(text, n, wanted as Readonly<Record<string, Json>>);
      if (!edited.ok) return;
      checkOnly(text, edited.text, n);
    }),
    runs(20),
  );
});

test('a step that is added and removed again gives the steps back', () => {
  fc.assert(
    fc.property(
      file,
      fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
      words,
      (text, before, instruction) => {
        const added = insertStep(text, { title: 'Fresh', agent: 'writer', instruction }, before);
        if (!added.ok) return;
        expect(done(removeStep(added.text, before ?? 7))).toBe(text);
      },
    ),
    runs(20),
  );
});

/** All bytes before the step's heading and after its last line are the same, and all other parts say the same. */
function checkOnly(before: string, after: string, n: number): void {
  const plain = before.replace(/^\uFEFF/, '');
  const step = mapFlow(plain)?.steps[n - 1];
  if (!step) throw new Error('no such step');
  const mark = before.length - plain.length;
  expect(after.startsWith(before.slice(0, step.start + mark))).toBe(true);
  if (step.end < plain.length) expect(after.endsWith(plain.slice(step.end))).toBe(true);
  const others = (text: string) =>
    voteText(text.replace(/^\uFEFF/, '')).filter(({ title }) => title !== step.heading.title);
  expect(others(after)).toEqual(others(before));
  if (plain.includes('\r\n')) expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
}
