import type { NotifyEvent } from '../format/index.js';
import type { Json } from '../shared/json.js';

/** The events that notifications report: those of `notify.events`, and the test. */
export type NotificationEvent = NotifyEvent | 'test';

export type NoticeData = Readonly<Record<string, Json>>;

interface EventKind {
  /** Sent to targets that name no events. */
  readonly byDefault: boolean;
  /** Sent to the gate's deciders as well. */
  readonly toDeciders: boolean;
  /** The end of the sentence that begins with the flow, or the account where there is no flow. */
  readonly says: (data: NoticeData) => string;
}

const row = (says: EventKind['says'], more: Partial<EventKind> = {}): EventKind => ({
  byDefault: false,
  toDeciders: false,
  ...more,
  says,
});

export const EVENTS = {
  'approval.waiting': row(() => 'waits for your decision', { byDefault: true, toDeciders: true }),
  'approval.reminder': row(() => 'still waits for your decision', { toDeciders: true }),
  'approval.timeout': row(() => 'no decision in time'),
  'run.completed': row(() => 'the run is completed'),
  'run.failed': row(() => 'the run failed', { byDefault: true }),
  'budget.warning': row(({ percent, budgetUsd }) => `${percent} % of the budget of $${budgetUsd} is spent`),
  'budget.reached': row(({ of, budgetUsd }) => `the budget of ${of}, $${budgetUsd}, is used up`),
  'eval.failed': row(({ eval: name, cases, failed, status }) =>
    status === 'completed' ? `${failed} of ${cases} cases of the eval ${name} failed` : `the eval ${name} failed`,
  ),
  'deploy.refused': row(() => 'a deploy was refused'),
  'connection.expired': row(({ secret }) => `the connection ${secret} has to be made again`),
  'credit.low': row(() => 'the credit is low'),
  test: row(() => 'a test of notifications', { byDefault: true }),
} as const satisfies Record<NotificationEvent, EventKind>;

/** Run events that have another name in notifications. */
const RENAMED: Readonly<Record<string, NotificationEvent>> = {
  'approval.requested': 'approval.waiting',
  'approval.escalated': 'approval.waiting',
};

export function eventOf(name: string): NotificationEvent | null {
  const renamed = RENAMED[name] ?? name;
  return Object.hasOwn(EVENTS, renamed) ? (renamed as NotificationEvent) : null;
}
