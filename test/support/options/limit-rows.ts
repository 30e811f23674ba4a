import { expect } from 'vitest';
import type { FakeAnswer } from '../fake-provider.js';
import type { At, OptionRow } from './row.js';

/** Never twice the same call, and each a few cents: it goes on until something ends it. */
const spend = ({ turn }: At): FakeAnswer => ({
  calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }],
  usage: { input: 300, output: 1_500 },
});
/** Longer than anything here may take. */
const late: FakeAnswer = { text: 'late', delayMs: 120_000 };
const broken: FakeAnswer = { status: 400, body: '{ "error": { "message": "no" } }' };

/** Options of how much a step may take, and what a failure means. */
export const LIMIT_ROWS: readonly OptionRow[] = [
  {
    of: 'step',
    key: 'retry',
    values: '1 to 100, or `{ max, wait, backoff, on: [timeout, tool, model] }`',
    byDefault: 'one attempt',
    refused: [
      { write: 'retry: 0', code: 'step/bad-value', says: '1 to 100' },
      { write: 'retry: -1', code: 'step/bad-value', says: '1 to 100' },
      { write: 'retry: 999999', code: 'step/bad-value', says: '1 to 100' },
      { write: 'retry: often', code: 'step/bad-value', says: '1 to 100' },
      { write: 'retry: { wait: 1s }', code: 'step/bad-value', says: '`max` is missing' },
      { write: 'retry: { max: 3, wait: 5 }', code: 'step/bad-value', says: 'duration' },
      { write: 'retry: { max: 3, backoff: 0 }', code: 'step/bad-value', says: '1 to 10' },
      { write: 'retry: { max: 3, on: [modle] }', code: 'step/bad-value', says: 'model' },
      { write: 'retry: { max: 3, wiat: 1s }', code: 'step/bad-value', says: 'wait' },
      { write: 'retry: 3', doer: '', beside: ['approve: human'], code: 'step/bad-value', says: 'no meaning without' },
    ],
    cases: {
      retry: {
        flow: '## Ask them @worker\n\n- retry: { max: 3, wait: 1s, backoff: 2, on: [model] }\n\nAsk.',
        model: ({ attempt }) => (attempt < 3 ? broken : undefined),
        killedIn: { attempt: 2 },
        killedAfter: 'model-started',
        shows: { status: 'completed', steps: [{ attempts: 3, result: 'ask_them is done' }] },
      },
      'retry on another failure': {
        flow: '## Ask them @worker\n\n- retry: { max: 3, on: [timeout] }\n\nAsk.',
        model: () => broken,
        killedIn: {},
        shows: { status: 'failed', steps: [{ attempts: 1, status: 'failed' }] },
      },
    },
  },
  {
    of: 'step',
    key: 'budget',
    values: 'USD, such as `0.80` or `$1.50`',
    byDefault: 'none',
    more: 'All rounds and items count.',
    refused: [
      { write: 'budget: -1', code: 'step/bad-value', says: 'amount in USD' },
      { write: 'budget: much', code: 'step/bad-value', says: 'amount in USD' },
      { write: 'budget: 1e30', code: 'step/bad-value', says: 'amount in USD' },
      { write: 'budget: 1€', code: 'step/bad-value', says: 'amount in USD' },
      { write: 'budget: 1', doer: '', beside: ['approve: human'], code: 'step/bad-value', says: 'no meaning without' },
    ],
    cases: {
      budget: {
        flow: '## Search @worker\n\n- budget: 0.05\n- on_fail: continue\n\nSearch.\n\n## Answer @worker\n\nAnswer.',
        model: (at) => (at.step === 'search' ? spend(at) : undefined),
        killedIn: { step: 'search', turn: 1 },
        shows: {
          status: 'completed',
          steps: [
            { status: 'failed', error: 'the budget of the step, $0.05, is used up' },
            { result: 'answer is done' },
          ],
        },
        holds: (run) => expect(run.steps[0]?.costUsd).toBeLessThanOrEqual(0.05),
      },
    },
  },
  {
    of: 'step',
    key: 'timeout',
    values: 'a duration: `90s` `5m` `2h` `3d` `1w`',
    byDefault: 'none',
    more: 'A wait for a person inside a step, or inside its subflow, does not count; a wait for a model’s provider does.',
    refused: [
      { write: 'timeout: 0s', code: 'step/bad-value', says: 'duration' },
      { write: 'timeout: -5m', code: 'step/bad-value', says: 'duration' },
      { write: 'timeout: 90', code: 'step/bad-value', says: 'duration' },
      { write: 'timeout: 5 minutes', code: 'step/bad-value', says: 'duration' },
      { write: 'timeout: 99999999999w', code: 'step/bad-value', says: 'duration' },
      { write: 'timeout: 5s', doer: '', beside: ['wait: 1h'], code: 'step/bad-value', says: 'always ends' },
    ],
    cases: {
      timeout: {
        flow: '## Ask them @worker\n\n- timeout: 2s\n- on_fail: continue\n\nAsk.\n\n## Answer @worker\n\nAnswer.',
        model: ({ step }) => (step === 'ask_them' ? late : undefined),
        isShort: true,
        killedIn: { step: 'ask_them' },
        shows: {
          status: 'completed',
          steps: [{ status: 'failed', error: 'the step took longer than its timeout' }, { status: 'completed' }],
        },
      },
      'timeout of a subflow': {
        flow: '## Print\n\n- subflow: printing\n- timeout: 2s\n- on_fail: continue\n\n## Answer @worker\n\nAnswer.',
        files: { 'flows/printing.md': '---\ndescription: Prints.\n---\n\n## Ink @worker\n\nPut ink on it.\n' },
        model: ({ step }) => (step === 'ink' ? late : undefined),
        isShort: true,
        killedIn: { step: 'ink' },
        shows: {
          status: 'completed',
          steps: [{ status: 'failed', error: 'the step took longer than its timeout' }, { result: 'answer is done' }],
        },
      },
      'timeout at a gate': {
        flow: '## Sign\n\n- approve: human\n- timeout: 2s\n\nMay it go out?',
        people: () => [],
        isShort: true,
        killedIn: 'wait',
        shows: { status: 'failed', error: expect.stringContaining('no decision in time') },
      },
      'timeout of a wait': {
        flow: '## Delivery\n\n- wait: event\n- timeout: 2s\n- on_fail: continue\n\nWait for the van.',
        people: () => [],
        isShort: true,
        killedIn: 'wait',
        killedAfter: 'parked',
        shows: { status: 'completed', steps: [{ status: 'failed', error: 'no event came in time' }] },
      },
    },
  },
  {
    of: 'step',
    key: 'on_fail',
    values: '`stop`, `continue` or an earlier step',
    byDefault: '`stop`',
    refused: [
      { write: 'on_fail: retry', code: 'step/bad-value', says: '`stop`, `continue`' },
      { write: 'on_fail: third', code: 'step/unknown-step', says: 'third' },
      { write: 'on_fail: second', beside: ['max_rounds: 2'], code: 'step/forward-jump', says: 'not earlier' },
      { write: 'on_fail: [stop]', code: 'step/bad-value', says: 'must be a word' },
    ],
    cases: {
      'on_fail: continue': {
        flow: "## Look up @worker\n\n- on_fail: continue\n\nLook it up.\n\n## Answer @worker\n\n- when: steps.look_up.status == 'failed'\n\nAnswer without it.",
        model: ({ step }) => (step === 'look_up' ? broken : undefined),
        killedIn: { step: 'look_up' },
        shows: { status: 'completed', steps: [{ status: 'failed' }, { status: 'completed' }] },
      },
      'on_fail: stop': {
        flow: '## Look up @worker\n\n- on_fail: stop\n\nLook it up.\n\n## Answer @worker\n\nAnswer.',
        model: () => broken,
        killedIn: {},
        shows: { status: 'failed', error: expect.stringContaining('Look up: '), steps: [{}, { status: 'pending' }] },
      },
      'on_fail: a step': {
        flow: '## Plan @worker\n\nPlan it.\n\n## Build @worker\n\n- on_fail: plan\n- max_rounds: 2\n\nBuild it.',
        model: ({ step, round }) => (step === 'build' && round === 1 ? broken : undefined),
        killedIn: { step: 'plan', round: 2 },
        shows: { status: 'completed', steps: [{ round: 2 }, { round: 2, rounds: [{ status: 'failed' }] }] },
      },
    },
  },
];
