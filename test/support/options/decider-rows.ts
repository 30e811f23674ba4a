import { expect } from 'vitest';
import type { RunView } from '../../../src/contract/runs.js';
import type { OptionRow } from './row.js';

const told = (run: RunView, kind: string) =>
  run.steps.flatMap((step) => step.trace.filter((line) => line.kind === kind));

/** What a gate hands its deciders, and when it speaks up again. */
export const DECIDER_ROWS: readonly OptionRow[] = [
  {
    of: 'gate',
    key: 'edit',
    values: 'a list of steps',
    byDefault: 'none',
    more: 'An approval may carry `edits`; both versions stay.',
    refused: [
      { write: 'edit: [first]', code: 'step/bad-value', says: 'no meaning without `approve`' },
      { write: 'edit: [frist]', beside: ['approve: human'], code: 'step/unknown-step', says: 'first' },
      { write: 'edit: 7', beside: ['approve: human'], code: 'step/bad-value', says: 'list of names' },
    ],
    cases: {
      edit: {
        flow: '## Draft @worker\n\nDraft it.\n\n## Sign\n\n- approve: human\n- edit: [draft]\n\nIs it right?\n\n## Send @worker\n\nSend {{steps.draft.result}}.',
        people: () => [{ decide: { decision: 'approve', edits: { draft: 'a better one' } } }],
        killedIn: 'wait',
        killedAfter: 'parked',
        shows: {
          status: 'completed',
          steps: [
            { result: 'a better one', edits: [{ result: 'draft is done' }] },
            { decision: { edited: ['draft'] } },
            { result: 'send is done' },
          ],
        },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('Send \\"a better one\\"'),
      },
    },
  },
  {
    of: 'gate',
    key: 'form',
    values: 'Picoschema or JSON Schema, or a block marked `yaml form` or `json form`',
    byDefault: 'none',
    more: 'The fields come back in `decision.form`.',
    refused: [
      { write: 'form: { amount: number }', code: 'step/bad-value', says: 'no meaning without `approve`' },
      { write: 'form: { amount: nmber }', beside: ['approve: human'], code: 'step/bad-schema', says: 'nmber' },
      { write: 'form: 7', beside: ['approve: human'], code: 'step/bad-schema', says: 'not a valid schema' },
    ],
    cases: {
      form: {
        flow: '## Sign\n\n- approve: human\n\nHow much may it cost?\n\n```yaml form\namount: number\n```\n\n## Buy @worker\n\nBuy for at most {{steps.sign.decision.form.amount}}.',
        people: () => [
          { decide: { decision: 'approve' }, status: 422 },
          { decide: { decision: 'approve', form: { amount: 'much' } }, status: 422 },
          { decide: { decision: 'approve', form: { amount: 12.5 } } },
        ],
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ decision: { form: { amount: 12.5 } } }, { status: 'completed' }] },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('at most 12.5'),
      },
    },
  },
  {
    of: 'gate',
    key: 'remind',
    values: 'a duration: `90s` `5m` `2h` `3d` `1w`',
    byDefault: 'never',
    more: 'Repeats until the gate is decided; each reminder is an event of the run.',
    refused: [
      { write: 'remind: 4h', code: 'step/bad-value', says: 'no meaning without `approve`' },
      { write: 'remind: 0s', beside: ['approve: human'], code: 'step/bad-value', says: 'duration' },
      { write: 'remind: -1h', beside: ['approve: human'], code: 'step/bad-value', says: 'duration' },
      { write: 'remind: 4', beside: ['approve: human'], code: 'step/bad-value', says: 'duration' },
    ],
    cases: {
      remind: {
        flow: '## Sign\n\n- approve: human\n- remind: 1s\n\nMay it go out?',
        people: () => [{ decide: { decision: 'approve' }, once: (run) => told(run, 'approval.reminder').length >= 2 }],
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ decision: { decision: 'approve' } }] },
        holds: (run) => expect(told(run, 'approval.requested')).toHaveLength(1),
      },
    },
  },
  {
    of: 'gate',
    key: 'escalate',
    values: '`{ after: <duration>, to: <decider> }`',
    byDefault: 'never',
    more: 'The further decider is notified once; an event of the run records it.',
    refused: [
      { write: 'escalate: { after: 1d, to: owner }', code: 'step/bad-value', says: 'no meaning without `approve`' },
      {
        write: 'escalate: { to: owner }',
        beside: ['approve: human'],
        code: 'step/bad-value',
        says: '`after` is missing',
      },
      { write: 'escalate: { after: 1d }', beside: ['approve: human'], code: 'step/bad-value', says: '`to` is missing' },
      {
        write: 'escalate: { after: 0s, to: owner }',
        beside: ['approve: human'],
        code: 'step/bad-value',
        says: 'duration',
      },
      {
        write: 'escalate: { after: 1d, to: boss }',
        beside: ['approve: human'],
        code: 'step/bad-value',
        says: 'cannot decide',
      },
      {
        write: 'escalate: { after: 1d, too: owner, to: owner }',
        beside: ['approve: human'],
        code: 'step/bad-value',
        says: 'to',
      },
      { write: 'escalate: owner', beside: ['approve: human'], code: 'step/bad-value', says: 'map' },
    ],
    cases: {
      escalate: {
        flow: '## Sign\n\n- approve: [ada@example.com]\n- escalate: { after: 1s, to: role:admin }\n\nMay it go out?',
        people: () => [
          { as: 'admin', decide: { decision: 'approve' }, once: (run) => told(run, 'approval.escalated').length > 0 },
        ],
        killedIn: 'wait',
        shows: { status: 'completed', steps: [{ decision: { decision: 'approve' } }] },
        holds: (run) => expect(told(run, 'approval.escalated')).toHaveLength(1),
      },
    },
  },
];
