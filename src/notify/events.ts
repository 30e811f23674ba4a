import type { Json } from '../shared/json.js';
import type { NotifyEvent } from '../workspace/index.js';

/** What people are told of: what `notify.events` names, and the test of it. */
export type ToldEvent = NotifyEvent | 'test';

export type NoticeData = Readonly<Record<string, Json>>;

interface EventRow {
  /** Told to whoever has a target and named no events. */
  readonly byDefault: boolean;
  /** Told to those besides whom the gate names. */
  readonly toDeciders: boolean;
  /** The end of the sentence that begins with the flow, or the account where there is none. */
  readonly says: (data: NoticeData) => string;
}

const row = (says: EventRow['says'], more: Partial<EventRow> = {}): EventRow => ({
  byDefault: false,
  toDeciders: false,
  ...more,
  says,
});

export const EVENTS = {
  'approval.waiting': row(() => 'waits for your decision', { byDefault: true, toDeciders: true }),
  'approval.reminder': row(() => 'still waits for your decision', { toDeciders: true }),
  'approval.timeout': row(() => 'nobody decided in time'),
  'run.completed': row(() => 'the run is completed'),
  'run.failed': row(() => 'the run failed', { byDefault: true }),
  'budget.warning': row(({ percent, budgetUsd }) => `${percent} % of the budget of $${budgetUsd} is spent`),
  'budget.reached': row(({ of, budgetUsd }) => `the budget of ${of}, $${budgetUsd}, is used up`),
  'eval.failed': row(({ eval: name, cases, failed, status }) =>
    status === 'completed' ? `${failed} of ${cases} cases of the eval ${name} failed` : `the eval ${name} failed`,
  ),
  'deploy.refused': row(() => 'a deploy was refused'),
  'connection.expired': row(({ secret }) => `the connection ${secret} has to be made anew`),
  'credit.low': row(() => 'the credit is low'),
  test: row(() => 'a test of notifications', { byDefault: true }),
} as const satisfies Record<ToldEvent, EventRow>;

/** Events of runs that have another name here. */
const RENAMED: Readonly<Record<string, ToldEvent>> = {
  'approval.requested': 'approval.waiting',
  'approval.escalated': 'approval.waiting',
};

export function eventOf(name: string): ToldEvent | null {
  const renamed = RENAMED[name] ?? name;
  return Object.hasOwn(EVENTS, renamed) ? (renamed as ToldEvent) : null;
}
