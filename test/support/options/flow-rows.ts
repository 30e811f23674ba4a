import { expect } from 'vitest';
import type { OptionRow } from './row.js';

const WORK = '## Work @worker\n\nWork on {{input}}.';
const THEN = '\n\n## Then @worker\n\nGo on.';

/** Options of a group of parallel branches. */
export const GROUP_ROWS: readonly OptionRow[] = [
  {
    of: 'group',
    key: 'id',
    values: '`a-z`, `0-9` and `_`, not beginning with a digit',
    byDefault: 'the folded title',
    refused: [
      { write: 'id: 2b', code: 'step/bad-id', says: '2b' },
      { write: 'id: first', code: 'step/duplicate-id', says: 'Two steps have the id `first`' },
    ],
    cases: {
      'id of a group': {
        flow: "## Look at both sides of it\n\n- id: sides\n\n### Left @worker\n\nLeft.\n\n### Right @worker\n\nRight.\n\n## Judge @worker\n\n- when: steps.sides.status == 'completed'\n\nJudge.",
        killedIn: { step: 'left' },
        killedAfter: 'forked',
        shows: { status: 'completed', steps: [{ group: 'sides' }, { group: 'sides' }, { status: 'completed' }] },
      },
    },
  },
  {
    of: 'group',
    key: 'when',
    values: 'CEL, true or false',
    byDefault: 'always',
    refused: [
      { write: 'when: steps.first.result ==', code: 'step/bad-expression', says: '`when`' },
      { write: 'when: steps.nobody.result == 1', code: 'step/unknown-step', says: 'nobody' },
    ],
    cases: {
      'when of a group': {
        flow: `${WORK}\n\n## Both\n\n- when: input == 'yes'\n\n### Left @worker\n\nLeft.\n\n### Right @worker\n\nRight.${THEN}`,
        start: { task: 'no' },
        killedIn: { step: 'work' },
        shows: {
          status: 'completed',
          steps: [{}, { status: 'skipped' }, { status: 'skipped' }, { status: 'completed' }],
        },
      },
    },
  },
  {
    of: 'group',
    key: 'join',
    values: '`all` or `any`',
    byDefault: '`all`',
    more: 'With `any` the first branch that is done ends the group.',
    refused: [
      { write: 'join: some', code: 'step/bad-value', says: '`all`, `any`' },
      { write: 'join: 1', code: 'step/bad-value', says: '`all`, `any`' },
      { write: 'jion: any', code: 'step/unknown-option', says: 'join' },
      { write: 'retry: 3', code: 'step/unknown-option', says: 'belongs to a step' },
    ],
    cases: {
      'join: all': {
        flow: `## Both\n\n- join: all\n\n### Left @worker\n\nLeft.\n\n### Right @worker\n\nRight.${THEN}`,
        killedIn: { step: 'right' },
        killedAfter: 'forked',
        shows: {
          status: 'completed',
          steps: [{ result: 'left is done' }, { result: 'right is done' }, { result: 'then is done' }],
        },
      },
      'join: any': {
        flow: `## Ask two\n\n- join: any\n\n### Quick @worker\n\nAnswer.\n\n### Slow\n\n- wait: 1w\n\nWait.${THEN}`,
        killedIn: { step: 'quick' },
        shows: { status: 'completed', steps: [{ result: 'quick is done' }, { result: null }, { status: 'completed' }] },
      },
    },
  },
];

/** Keys of a flow's frontmatter that act on its runs. */
export const FLOW_ROWS: readonly OptionRow[] = [
  {
    of: 'flow',
    key: 'enabled',
    values: '`true` or `false`',
    byDefault: '`true`',
    more: 'A start of a disabled flow is refused.',
    refused: [
      { write: 'enabled: 1', code: 'flow/bad-value', says: '`true` or `false`' },
      { write: 'enabled: "no"', code: 'flow/bad-value', says: '`true` or `false`' },
      { write: 'enabeld: false', code: 'flow/unknown-key', says: 'enabled' },
    ],
    cases: {
      enabled: {
        flow: WORK,
        keys: 'enabled: false\n',
        refuses: { body: {}, status: 409, says: 'switched off' },
        killedIn: {},
      },
    },
  },
  {
    of: 'flow',
    key: 'input',
    values: 'Picoschema or JSON Schema',
    byDefault: 'a text',
    refused: [
      { write: 'input: { order: strng }', code: 'flow/bad-value', says: 'not a valid schema' },
      { write: 'input: 7', code: 'flow/bad-value', says: 'not a valid schema' },
    ],
    cases: {
      input: {
        flow: '## Work @worker\n\nWork on order {{input.order}}.',
        keys: 'input: { order: string, amount: integer }\n',
        refuses: { body: { task: { order: 7, amount: 1 } }, status: 422, says: 'order' },
        start: { task: { order: 'A-1', amount: 2 } },
        killedIn: {},
        shows: { status: 'completed', input: { order: 'A-1', amount: 2 } },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('Work on order \\"A-1\\"'),
      },
    },
  },
  {
    of: 'flow',
    key: 'tags',
    values: 'a list of texts',
    byDefault: 'none',
    more: 'Tags of the start are added.',
    refused: [{ write: 'tags: [{ a: 1 }]', code: 'flow/bad-value', says: 'must be a text' }],
    cases: {
      tags: {
        flow: WORK,
        keys: 'tags: [daily, shop]\n',
        start: { task: 'go', tags: ['again'] },
        killedIn: {},
        shows: { status: 'completed', tags: ['daily', 'shop', 'again'] },
      },
    },
  },
  {
    of: 'flow',
    key: 'timeout',
    values: 'a duration: `90s` `5m` `2h` `3d` `1w`',
    byDefault: 'none',
    more: 'It counts from the start, waits included; then the run fails.',
    refused: [
      { write: 'timeout: 0s', code: 'flow/bad-value', says: 'duration' },
      { write: 'timeout: -1h', code: 'flow/bad-value', says: 'duration' },
      { write: 'timeout: 3600', code: 'flow/bad-value', says: 'duration' },
    ],
    cases: {
      'timeout of a flow': {
        flow: '## Delivery\n\n- wait: event\n\nWait for the van.',
        keys: 'timeout: 3s\n',
        people: () => [],
        isShort: true,
        killedIn: 'wait',
        shows: { status: 'failed', error: 'the run took longer than its timeout' },
      },
    },
  },
  {
    of: 'flow',
    key: 'budget',
    values: 'USD, such as `0.80` or `$1.50`',
    byDefault: 'none',
    more: 'Subflows count.',
    refused: [
      { write: 'budget: -0.5', code: 'flow/bad-value', says: 'amount in USD' },
      { write: 'budget: free', code: 'flow/bad-value', says: 'amount in USD' },
    ],
    cases: {
      'budget of a flow': {
        flow: '## Search @worker\n\nSearch.',
        keys: 'budget: 0.05\n',
        model: ({ turn }) => ({
          calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }],
          usage: { input: 300, output: 1_500 },
        }),
        killedIn: { turn: 1 },
        shows: { status: 'failed', error: expect.stringContaining('the budget of the run, $0.05, is used up') },
        holds: (run) => expect(run.costUsd).toBeLessThanOrEqual(0.05),
      },
    },
  },
];

/** Keys of an agent's frontmatter that act on the steps it does. */
export const AGENT_ROWS: readonly OptionRow[] = [
  {
    of: 'agent',
    key: 'maxTurns',
    values: '1 to 500',
    byDefault: '50',
    refused: [
      { write: 'maxTurns: 0', code: 'agent/bad-value', says: '1 to 500' },
      { write: 'maxTurns: -5', code: 'agent/bad-value', says: '1 to 500' },
      { write: 'maxTurns: 501', code: 'agent/bad-value', says: '1 to 500' },
      { write: 'maxTurns: "3"', code: 'agent/bad-value', says: '1 to 500' },
      { write: 'maxTurn: 3', code: 'agent/unknown-key', says: 'maxTurns' },
    ],
    cases: {
      maxTurns: {
        flow: WORK,
        agent: 'maxTurns: 2\n',
        model: ({ turn }) => ({ calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }] }),
        killedIn: { turn: 1 },
        shows: { status: 'failed', error: expect.stringContaining('no answer after 2 turns') },
        holds: (_run, calls) => expect(new Set(calls.map((call) => call.idempotencyKey)).size).toBe(2),
      },
    },
  },
  {
    of: 'agent',
    key: 'timeout',
    values: 'a duration: `90s` `5m` `2h` `3d` `1w`',
    byDefault: 'none',
    more: 'Waits for people do not count; the smaller of it and the step’s own applies.',
    refused: [
      { write: 'timeout: 0m', code: 'agent/bad-value', says: 'duration' },
      { write: 'timeout: 60', code: 'agent/bad-value', says: 'duration' },
    ],
    cases: {
      'timeout of an agent': {
        flow: WORK,
        agent: 'timeout: 2s\n',
        model: () => ({ text: 'late', delayMs: 120_000 }),
        isShort: true,
        killedIn: {},
        shows: { status: 'failed', error: expect.stringContaining('took longer than its timeout') },
      },
    },
  },
  {
    of: 'agent',
    key: 'budget',
    values: 'USD, such as `0.80` or `$1.50`',
    byDefault: 'none',
    more: 'All steps of a run that the agent does count together.',
    refused: [
      { write: 'budget: -2', code: 'agent/bad-value', says: 'amount in USD' },
      { write: 'budget: [1]', code: 'agent/bad-value', says: 'amount in USD' },
    ],
    cases: {
      'budget of an agent': {
        flow: WORK,
        agent: 'budget: 0.05\n',
        model: ({ turn }) => ({
          calls: [{ name: 'Glob', args: { pattern: `*${turn}` } }],
          usage: { input: 300, output: 1_500 },
        }),
        killedIn: { turn: 1 },
        shows: {
          status: 'failed',
          error: expect.stringContaining('the budget of the agent worker, $0.05, is used up'),
        },
        holds: (run) => expect(run.costUsd).toBeLessThanOrEqual(0.05),
      },
    },
  },
  {
    of: 'agent',
    key: 'approve',
    values: 'names of tools, or `tool.operation`',
    byDefault: 'none',
    more: 'The run waits before such a call; the model reads a rejection.',
    refused: [
      { write: 'approve: 7', code: 'agent/bad-value', says: 'list of names' },
      { write: 'approve: [Bsh]', code: 'ref/tool', says: 'Bash' },
    ],
    cases: {
      'approve of an agent': {
        flow: WORK,
        agent: 'approve: [Bash]\n',
        model: ({ run, turn }) =>
          turn === 0 ? { calls: [{ name: 'Bash', args: { command: `echo once >> files/${run}.txt` } }] } : undefined,
        people: () => [{ decide: { decision: 'approve' } }],
        killedIn: 'wait',
        killedAfter: 'tool-started',
        shows: { status: 'completed', steps: [{ result: 'work is done' }] },
      },
    },
  },
];
