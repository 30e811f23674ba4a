import { expect } from 'vitest';
import type { OptionRow } from './row.js';

const ITEMS = 'input: { names(array): string }\n';

/** Options of whether, how often and in what order steps run. */
export const ORDER_ROWS: readonly OptionRow[] = [
  {
    of: 'step',
    key: 'when',
    values: 'CEL, true or false',
    byDefault: 'always',
    refused: [
      { write: 'when: steps.first.result ==', code: 'step/bad-expression', says: '`when`' },
      { write: "when: steps.frist.result == 'a'", code: 'step/unknown-step', says: 'first' },
      { write: 'when: self.result == 1', code: 'step/bad-expression', says: 'self' },
      { write: 'when:', code: 'step/bad-value', says: 'has no value' },
      { write: "wehn: input == 'a'", code: 'step/unknown-option', says: 'when' },
    ],
    cases: {
      when: {
        flow: "## Triage @worker\n\nIs it urgent?\n\n## Call @worker\n\n- when: steps.triage.result == 'urgent'\n\nCall now.\n\n## Write @worker\n\n- when: steps.call.status == 'skipped'\n\nWrite a letter.",
        model: ({ step }) => (step === 'triage' ? { text: 'calm' } : undefined),
        killedIn: { step: 'triage' },
        shows: { status: 'completed', steps: [{}, { status: 'skipped' }, { status: 'completed' }] },
      },
    },
  },
  {
    of: 'step',
    key: 'each',
    values: 'CEL, a list of at most 1,000',
    byDefault: 'once',
    more: 'The step’s `data` is the list of the results.',
    refused: [
      { write: 'each: input.[', code: 'step/bad-expression', says: '`each`' },
      { write: 'each: steps.nobody.data', code: 'step/unknown-step', says: 'nobody' },
    ],
    cases: {
      each: {
        flow: '## Greet @worker\n\n- each: input.names\n\nGreet {{item}}.\n\n## Sum up @worker\n\nSum up {{steps.greet.result}}.',
        keys: ITEMS,
        start: { task: { names: ['Ada', 'Bo', 'Cy'] } },
        model: ({ step, item }) => (step === 'greet' ? { text: `hello ${item}` } : undefined),
        killedIn: { step: 'greet', item: 2 },
        killedAfter: 'forked',
        shows: { status: 'completed', steps: [{ data: ['hello 1', 'hello 2', 'hello 3'] }, { status: 'completed' }] },
      },
    },
  },
  {
    of: 'step',
    key: 'as',
    values: 'a name',
    byDefault: '`item`',
    refused: [
      { write: 'as: name', code: 'step/bad-value', says: 'no meaning without `each`' },
      { write: 'as: A name', beside: ['each: input.names'], code: 'step/bad-value', says: 'must be a name' },
      { write: 'as: 7', beside: ['each: input.names'], code: 'step/bad-value', says: 'must be a text' },
    ],
    cases: {
      as: {
        flow: '## Greet @worker\n\n- each: input.names\n- as: guest\n\nGreet {{guest}}.',
        keys: ITEMS,
        start: { task: { names: ['Ada'] } },
        killedIn: { step: 'greet', item: 1 },
        shows: { status: 'completed', steps: [{ data: ['greet is done'] }] },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('Greet \\"Ada\\"'),
      },
    },
  },
  {
    of: 'step',
    key: 'parallel',
    values: '1 to 100',
    byDefault: '1',
    refused: [
      { write: 'parallel: 2', code: 'step/bad-value', says: 'no meaning without `each`' },
      { write: 'parallel: 0', beside: ['each: input.names'], code: 'step/bad-value', says: '1 to 100' },
      { write: 'parallel: -3', beside: ['each: input.names'], code: 'step/bad-value', says: '1 to 100' },
      { write: 'parallel: 101', beside: ['each: input.names'], code: 'step/bad-value', says: '1 to 100' },
      { write: 'parallel: 1.5', beside: ['each: input.names'], code: 'step/bad-value', says: '1 to 100' },
      { write: 'parallel: many', beside: ['each: input.names'], code: 'step/bad-value', says: '1 to 100' },
    ],
    cases: {
      parallel: {
        flow: '## Greet @worker\n\n- each: input.names\n- parallel: 2\n\nGreet {{item}}.',
        keys: ITEMS,
        start: { task: { names: ['Ada', 'Bo', 'Cy', 'Di'] } },
        model: ({ item }) => ({ text: `hello ${item}`, delayMs: 300 }),
        killedIn: { step: 'greet', item: 2 },
        shows: { status: 'completed', steps: [{ data: ['hello 1', 'hello 2', 'hello 3', 'hello 4'] }] },
        holds: (run) => expect(mostAtOnce(run.steps[0]?.items ?? [])).toBe(2),
      },
    },
  },
  {
    of: 'step',
    key: 'until',
    values: 'CEL, true or false; `self` is the step’s own outcome',
    byDefault: 'the next step follows',
    more: 'The step’s result goes to `back_to` as feedback.',
    refused: [
      { write: 'until: self.data.score > 5', code: 'step/bad-value', says: 'no meaning without `back_to`' },
      {
        write: 'until: self.data.score >',
        beside: ['back_to: first', 'max_rounds: 2'],
        code: 'step/bad-expression',
        says: '`until`',
      },
    ],
    cases: {
      until: {
        flow: '## Write @worker\n\nWrite it.\n\n## Check @worker\n\n- output: json\n- until: self.data.score >= 8\n- back_to: write\n- max_rounds: 3\n\nScore it.',
        model: ({ step, round }) =>
          step === 'write' ? { text: `draft ${round}` } : { text: `{ "score": ${round * 4} }` },
        killedIn: { step: 'check', round: 2 },
        killedAfter: 'step-done-before-report',
        shows: {
          status: 'completed',
          steps: [
            { round: 2, result: 'draft 2', rounds: [{ result: 'draft 1' }] },
            { round: 2, data: { score: 8 } },
          ],
        },
      },
    },
  },
  {
    of: 'step',
    key: 'back_to',
    values: 'an earlier step, or a group',
    byDefault: 'none',
    refused: [
      {
        write: 'back_to: first',
        beside: ['max_rounds: 1'],
        code: 'step/bad-value',
        says: 'no meaning without `until`',
      },
      {
        write: 'back_to: second',
        beside: ['until: "true"', 'max_rounds: 1'],
        code: 'step/forward-jump',
        says: 'not earlier',
      },
      { write: 'back_to: frist', beside: ['until: "true"', 'max_rounds: 1'], code: 'step/unknown-step', says: 'first' },
      {
        write: 'back_to: continue',
        beside: ['until: "true"', 'max_rounds: 1'],
        code: 'step/bad-value',
        says: 'earlier step',
      },
    ],
    cases: {
      back_to: {
        flow: "## Both\n\n### Left @worker\n\nLeft.\n\n### Right @worker\n\nRight.\n\n## Judge @worker\n\n- until: self.result == 'good'\n- back_to: both\n- max_rounds: 1\n\nJudge.",
        model: ({ step, round }) => (step === 'judge' ? { text: round === 1 ? 'bad' : 'good' } : undefined),
        killedIn: { step: 'left', round: 2 },
        shows: { status: 'completed', steps: [{ round: 2 }, { round: 2 }, { round: 2, result: 'good' }] },
        holds: (_run, calls) => {
          const again = calls.find((call) => call.idempotencyKey?.includes('/left/0/2/'));
          expect(again?.prompt).toContain('bad');
        },
      },
    },
  },
  {
    of: 'step',
    key: 'max_rounds',
    values: '1 to 100',
    byDefault: 'none; required to go back',
    more: 'When it is used up the step fails, and `on_fail` decides.',
    refused: [
      { write: 'max_rounds: 0', beside: ['until: "true"', 'back_to: first'], code: 'step/bad-value', says: '1 to 100' },
      {
        write: 'max_rounds: -1',
        beside: ['until: "true"', 'back_to: first'],
        code: 'step/bad-value',
        says: '1 to 100',
      },
      {
        write: 'max_rounds: 1000000',
        beside: ['until: "true"', 'back_to: first'],
        code: 'step/bad-value',
        says: '1 to 100',
      },
      { write: 'max_rounds: 3', code: 'step/bad-value', says: 'never goes back' },
      { write: 'on_fail: first', code: 'step/loop-without-bound', says: 'max_rounds' },
    ],
    cases: {
      max_rounds: {
        flow: "## Write @worker\n\nWrite it.\n\n## Check @worker\n\n- until: self.result == 'good'\n- back_to: write\n- max_rounds: 2\n- on_fail: continue\n\nCheck it.",
        model: ({ step }) => (step === 'check' ? { text: 'bad' } : undefined),
        killedIn: { step: 'check', round: 3 },
        shows: {
          status: 'completed',
          steps: [{ round: 3 }, { round: 3, status: 'failed', error: '"until" did not hold after 2 rounds' }],
        },
      },
    },
  },
];

/** How many of these overlapped in time: each begins and ends. */
function mostAtOnce(
  items: readonly { readonly startedAt: string | null; readonly finishedAt: string | null }[],
): number {
  const marks = items.flatMap(({ startedAt, finishedAt }) => [
    { at: startedAt ?? '', by: 1 },
    { at: finishedAt ?? '', by: -1 },
  ]);
  let open = 0;
  let most = 0;
  for (const { by } of marks.toSorted((a, b) => a.at.localeCompare(b.at) || a.by - b.by)) {
    open += by;
    most = Math.max(most, open);
  }
  return most;
}
