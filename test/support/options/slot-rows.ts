import { expect } from 'vitest';
import type { FakeAnswer } from '../fake-provider.js';
import type { OptionRow } from './row.js';

const WORK = '## Work @worker\n\nWork on {{input}}.';
/** So long that the second start finds the first run at work. */
const slow = (): FakeAnswer => ({ text: 'worked', delayMs: 2_500 });

/** Keys of a flow that say what happens when there is too much of it. */
export const SLOT_ROWS: readonly OptionRow[] = [
  {
    of: 'flow',
    key: 'concurrency',
    values: '`{ limit: 1 to 10,000, key: <CEL>, on_limit: queue, skip or cancel }`',
    byDefault: 'no limit; `on_limit: queue`',
    more: 'A run that waits for a person does not count.',
    refused: [
      { write: 'concurrency: 3', code: 'flow/bad-value', says: 'must be a map' },
      { write: 'concurrency: { limit: 0 }', code: 'flow/bad-value', says: '1 to 10000' },
      { write: 'concurrency: { limit: -1 }', code: 'flow/bad-value', says: '1 to 10000' },
      { write: 'concurrency: { limit: 10001 }', code: 'flow/bad-value', says: '1 to 10000' },
      { write: 'concurrency: { on_limit: skip }', code: 'flow/bad-value', says: '`limit` is missing' },
      { write: 'concurrency: { limit: 1, on_limit: drop }', code: 'flow/bad-value', says: '`queue`, `skip`, `cancel`' },
      { write: 'concurrency: { limit: 1, key: "input." }', code: 'flow/bad-value', says: 'concurrency.key' },
      { write: 'concurrency: { limti: 1, limit: 1 }', code: 'flow/bad-value', says: 'limit' },
    ],
    cases: {
      'concurrency: queue': {
        flow: WORK,
        keys: 'concurrency: { limit: 1, key: input }\n',
        model: slow,
        killedIn: {},
        second: { status: 202, shows: { status: 'completed', steps: [{ result: 'worked' }] } },
        shows: { status: 'completed', steps: [{ result: 'worked' }] },
      },
      'concurrency: skip': {
        flow: WORK,
        keys: 'concurrency: { limit: 1, on_limit: skip }\n',
        model: slow,
        killedIn: {},
        second: { status: 200 },
        shows: { status: 'completed', steps: [{ result: 'worked' }] },
      },
      'concurrency: cancel': {
        flow: WORK,
        keys: 'concurrency: { limit: 1, on_limit: cancel }\n',
        model: slow,
        killedIn: {},
        second: { status: 202, shows: { status: 'completed', steps: [{ result: 'worked' }] } },
        shows: { status: 'failed', stopped: true },
      },
    },
  },
  {
    of: 'flow',
    key: 'on_budget',
    values: '`stop` or `ask`',
    byDefault: '`stop`',
    more: '`ask` opens a gate: an approval grants the flow’s budget once more, a rejection fails the run whatever `on_fail` says. A used-up month opens a gate too; an approval checks again.',
    refused: [
      { write: 'on_budget: go', code: 'flow/bad-value', says: '`stop`, `ask`' },
      { write: 'on_budget: 5', code: 'flow/bad-value', says: '`stop`, `ask`' },
    ],
    cases: {
      'on_budget: stop': {
        flow: '## Search @worker\n\nSearch.\n\n## Answer @worker\n\nAnswer.',
        keys: 'budget: 0.05\non_budget: stop\n',
        model: ({ turn }) => ({
          calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }],
          usage: { input: 300, output: 1_500 },
        }),
        killedIn: { turn: 1 },
        shows: { status: 'failed', steps: [{ status: 'failed' }, { status: 'pending' }] },
      },
      'on_budget: ask': {
        flow: '## Search @worker\n\n- on_fail: continue\n\nSearch.\n\n## Answer @worker\n\nAnswer.',
        keys: 'budget: 0.05\non_budget: ask\n',
        model: ({ step, turn }) => ({
          ...(step === 'search' && turn < 4
            ? { calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }] }
            : { text: 'found' }),
          usage: { input: 300, output: 1_200 },
        }),
        people: () => [{ decide: { decision: 'approve' } }],
        killedIn: 'wait',
        shows: {
          status: 'completed',
          budgetUsd: 0.1,
          steps: [
            { status: 'completed', result: 'found' },
            { status: 'completed', result: 'found' },
          ],
        },
      },
      'on_budget: ask, rejected': {
        flow: '## Search @worker\n\n- on_fail: continue\n\nSearch.\n\n## Answer @worker\n\nAnswer.',
        keys: 'budget: 0.05\non_budget: ask\n',
        model: ({ turn }) => ({
          calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }],
          usage: { input: 300, output: 1_500 },
        }),
        people: () => [{ decide: { decision: 'reject', note: 'enough' } }],
        killedIn: 'wait',
        shows: {
          status: 'failed',
          error: expect.stringMatching(/^the budget of the run, \$0\.05, is used up, and .+ granted no more: enough$/),
          steps: [{ status: 'failed' }, { status: 'pending' }],
        },
      },
    },
  },
];
