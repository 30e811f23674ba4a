import { expect } from 'vitest';
import type { OptionRow } from './row.js';

const DRAFT = '## Draft @worker\n\nDraft it.\n\n';

/** Waits and gates. */
export const WAIT_ROWS: readonly OptionRow[] = [
  {
    of: 'step',
    key: 'wait',
    values: '`event`, or a duration: `90s` `5m` `2h` `3d` `1w`',
    byDefault: 'none',
    more: 'The step waits after its work is done; an event that comes earlier is stored.',
    refused: [
      { write: 'wait: tomorrow', code: 'step/bad-value', says: '`event` or a duration' },
      { write: 'wait: 0s', code: 'step/bad-value', says: '`event` or a duration' },
      { write: 'wait: -2h', code: 'step/bad-value', says: '`event` or a duration' },
      { write: 'wait: event', beside: ['each: input.names'], code: 'step/bad-value', says: 'cannot be in one step' },
      { write: 'wait: 7', code: 'step/bad-value', says: '`event` or a duration' },
      { write: 'approve: human', beside: ['wait: event'], code: 'step/bad-value', says: 'cannot be in one step' },
    ],
    cases: {
      'wait: event': {
        flow: '## Order @worker\n\n- wait: event\n\nOrder it; they answer at {{step.release_url}}.\n\n## Thank @worker\n\nThank them for {{steps.order.event.parcel}}.',
        people: () => [{ event: { parcel: 'P-7' } }],
        killedIn: 'wait',
        killedAfter: 'parked',
        shows: { status: 'completed', steps: [{ eventPayload: { parcel: 'P-7' } }, { status: 'completed' }] },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('P-7'),
      },
      'wait: a duration': {
        flow: '## Cool down\n\n- wait: 3s\n\n## Pour @worker\n\nPour it.',
        isShort: true,
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ status: 'completed' }, { result: 'pour is done' }] },
        holds: (run) => expect(run.steps[0]?.durationMs).toBeGreaterThanOrEqual(2_900),
      },
    },
  },
  {
    of: 'gate',
    key: 'approve',
    values: '`human` (an editor or above), or a list of addresses, `role:<role>`, `owner`',
    byDefault: 'no gate',
    refused: [
      { write: 'approve: anybody', code: 'step/bad-value', says: 'cannot decide' },
      { write: 'approve: role:viewer', code: 'step/bad-value', says: 'cannot decide' },
      { write: 'approve: []', code: 'step/bad-value', says: 'No one could decide' },
      { write: 'approve: true', code: 'step/bad-value', says: 'list of names' },
      {
        write: 'approve: human',
        beside: ['each: input.names'],
        code: 'step/bad-value',
        says: 'cannot be in one step',
      },
      { write: 'aprove: human', code: 'step/unknown-option', says: 'approve' },
      { write: 'aprove: human', doer: '', code: 'step/unknown-option', says: 'approve' },
    ],
    cases: {
      approve: {
        flow: `${DRAFT}## Sign\n\n- approve: human\n\nIs {{steps.draft.result}} right?\n\n## Send @worker\n\nSend it.`,
        people: () => [{ decide: { decision: 'approve', note: 'fine' } }],
        killedIn: 'wait',
        killedAfter: 'parked',
        shows: {
          status: 'completed',
          steps: [{}, { decision: { decision: 'approve', note: 'fine' } }, { result: 'send is done' }],
        },
      },
      'approve: a role': {
        flow: '## Sign\n\n- approve: [role:admin]\n\nMay it go out?',
        people: () => [
          { as: 'editor', decide: { decision: 'approve' }, status: 403 },
          { decide: { decision: 'approve' }, status: 403 },
          { as: 'admin', decide: { decision: 'approve' } },
        ],
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ decision: { decision: 'approve' } }] },
      },
    },
  },
  {
    of: 'gate',
    key: 'need',
    values: '1 to 50, or `all`',
    byDefault: '1',
    more: 'Distinct persons count; the first rejection ends the gate.',
    refused: [
      { write: 'need: 2', code: 'step/bad-value', says: 'no meaning without `approve`' },
      { write: 'need: 0', beside: ['approve: human'], code: 'step/bad-value', says: '1 to 50' },
      { write: 'need: -2', beside: ['approve: human'], code: 'step/bad-value', says: '1 to 50' },
      { write: 'need: 51', beside: ['approve: human'], code: 'step/bad-value', says: '1 to 50' },
      { write: 'need: most', beside: ['approve: human'], code: 'step/bad-value', says: '1 to 50' },
      { write: 'need: all', beside: ['approve: human'], code: 'step/bad-value', says: 'list of email addresses' },
      {
        write: 'need: 3',
        beside: ['approve: [a@x.test, b@x.test]'],
        code: 'step/bad-value',
        says: 'never be reached by 2',
      },
    ],
    cases: {
      need: {
        flow: '## Sign\n\n- approve: human\n- need: 2\n\nMay it go out?',
        people: () => [
          { decide: { decision: 'approve', note: 'one' } },
          { decide: { decision: 'approve', note: 'again' } },
          { as: 'editor', decide: { decision: 'approve', note: 'two' } },
        ],
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ decision: { decision: 'approve', note: 'two' } }] },
      },
    },
  },
  {
    of: 'gate',
    key: 'self',
    values: '`true` or `false`',
    byDefault: '`true`',
    refused: [
      { write: 'self: false', code: 'step/bad-value', says: 'no meaning without `approve`' },
      { write: 'self: never', beside: ['approve: human'], code: 'step/bad-value', says: '`true` or `false`' },
      { write: 'self: 0', beside: ['approve: human'], code: 'step/bad-value', says: '`true` or `false`' },
    ],
    cases: {
      self: {
        flow: '## Sign\n\n- approve: human\n- self: false\n\nMay it go out?',
        people: () => [
          { decide: { decision: 'approve' }, status: 403 },
          { as: 'editor', decide: { decision: 'approve' } },
        ],
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ decision: { decision: 'approve' } }] },
      },
    },
  },
  {
    of: 'gate',
    key: 'on_timeout',
    values: 'gate: `reject`, `fail`, `continue` or an earlier step; wait: the same without `reject`',
    byDefault: 'gate: `reject`; wait: `fail`',
    more: 'No gate is ever approved automatically.',
    refused: [
      { write: 'on_timeout: continue', code: 'step/bad-value', says: 'no meaning without' },
      {
        write: 'on_timeout: approve',
        beside: ['approve: human'],
        code: 'step/bad-value',
        says: 'Nothing ever approves by itself',
      },
      { write: 'on_timeout: reject', beside: ['wait: event'], code: 'step/bad-value', says: '`fail`, `continue`' },
      { write: 'on_timeout: nowhere', beside: ['approve: human'], code: 'step/unknown-step', says: 'nowhere' },
    ],
    cases: {
      'on_timeout: continue': {
        flow: '## Sign\n\n- approve: human\n- timeout: 2s\n- on_timeout: continue\n\nAny objection?\n\n## Send @worker\n\nSend it.',
        people: () => [],
        isShort: true,
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ decision: { decision: 'timeout' } }, { result: 'send is done' }] },
      },
      'on_timeout: fail': {
        flow: '## Sign\n\n- approve: human\n- timeout: 2s\n- on_timeout: fail\n- on_fail: continue\n\nMay it?',
        people: () => [],
        isShort: true,
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ status: 'failed', error: 'no decision in time' }] },
      },
      'on_timeout: a step': {
        flow: '## Remind @worker\n\nWrite to them.\n\n## Reply\n\n- wait: event\n- timeout: 2s\n- on_timeout: remind\n- max_rounds: 1\n- on_fail: continue\n\nWait for it.',
        people: () => [],
        isShort: true,
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ round: 2 }, { round: 2, status: 'failed' }] },
      },
    },
  },
  {
    of: 'gate',
    key: 'on_reject',
    values: '`stop`, `continue` or an earlier step',
    byDefault: '`stop`',
    more: 'An earlier step gets the note as feedback.',
    refused: [
      { write: 'on_reject: continue', code: 'step/bad-value', says: 'no meaning without `approve`' },
      { write: 'on_reject: fail', beside: ['approve: human'], code: 'step/bad-value', says: '`stop`, `continue`' },
      { write: 'on_reject: first', beside: ['approve: human'], code: 'step/loop-without-bound', says: 'max_rounds' },
      { write: 'on_reject: frist', beside: ['approve: human'], code: 'step/unknown-step', says: 'first' },
    ],
    cases: {
      'on_reject: a step': {
        flow: `${DRAFT}## Sign\n\n- approve: human\n- on_reject: draft\n- max_rounds: 2\n\nIs it right?`,
        people: ({ round }) => [{ decide: { decision: round === 1 ? 'reject' : 'approve', note: 'warmer' } }],
        killedIn: { step: 'draft', round: 2 },
        shows: {
          status: 'completed',
          steps: [
            { round: 2 },
            { round: 2, decision: { decision: 'approve' }, rounds: [{ decision: { note: 'warmer' } }] },
          ],
        },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('warmer'),
      },
      'on_reject: stop': {
        flow: `${DRAFT}## Sign\n\n- approve: human\n- on_reject: stop\n\nIs it right?\n\n## Send @worker\n\nSend it.`,
        people: () => [{ decide: { decision: 'reject', note: 'too long' } }],
        killedIn: 'wait',
        shows: { status: 'failed', error: expect.stringContaining('too long'), steps: [{}, {}, { status: 'pending' }] },
      },
      'on_reject: continue': {
        flow: "## Sign\n\n- approve: human\n- on_reject: continue\n\nSend it?\n\n## Send @worker\n\n- when: steps.sign.decision.decision == 'approve'\n\nSend it.",
        people: () => [{ decide: { decision: 'reject' } }],
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ decision: { decision: 'reject' } }, { status: 'skipped' }] },
      },
    },
  },
];
