import {
  type CalendarSpec,
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
  type ScheduleSummary,
} from '@temporalio/client';
import type { FlowRef } from '../../workflows/contract.js';
import type { BoundedCalls } from './bounded-calls.js';
import type { KeptSchedule, Schedules } from './contract.js';

export interface SchedulesOptions {
  readonly client: Client;
  readonly taskQueue: string;
  readonly calls: BoundedCalls;
}

/** The workflow that a schedule starts. */
const FIRE_SCHEDULE = 'fireSchedule';
const MONTHS = [
  ...['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE'],
  ...['JULY', 'AUGUST', 'SEPTEMBER', 'OCTOBER', 'NOVEMBER', 'DECEMBER'],
] as readonly NonNullable<CalendarSpec['month']>[];

/**
 * Temporal's schedules with exact moments, one calendar entry each, so that no cron rule is interpreted by Temporal. A
 * moment that passes while a server is down starts its workflow when the server is back.
 */
export function createSchedules({ client, taskQueue, calls }: SchedulesOptions): Schedules {
  const { call, each } = calls;
  // Two installations may share a namespace, each with its own task queue.
  const prefix = `schedule/${taskQueue}/`;
  const idOf = ({ workspace, flow }: FlowRef): string => `${prefix}${workspace}/${flow}`;
  const handleOf = (ref: FlowRef) => client.schedule.getHandle(idOf(ref));

  return {
    async putSchedule({ ref, note, times, paused, wake }) {
      const options = {
        spec: { calendars: times.map(calendarOf) },
        action: {
          type: 'startWorkflow',
          workflowType: FIRE_SCHEDULE,
          workflowId: `fire/${taskQueue}/${ref.workspace}/${ref.flow}`,
          args: [ref],
          taskQueue,
        },
        policies: { overlap: 'BUFFER_ONE', catchupWindow: '365 days', pauseOnFailure: false },
        state: { note, paused },
      } as const satisfies Omit<ScheduleOptions, 'scheduleId'>;
      await call(() =>
        handleOf(ref)
          .update(() => options)
          .catch((error: unknown) => {
            if (!(error instanceof ScheduleNotFoundError)) throw error;
            return client.schedule.create({ scheduleId: idOf(ref), ...options }).then(() => undefined);
          })
          .catch((error: unknown) => {
            // Another process has just created it: update it.
            if (error instanceof ScheduleAlreadyRunning) return handleOf(ref).update(() => options);
            throw error;
          }),
      );
      if (wake) await call(() => handleOf(ref).trigger());
    },
    deleteSchedule: (ref) =>
      call(() => handleOf(ref).delete()).catch((error: unknown) => {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      }),
    async *schedules() {
      for await (const found of each(client.schedule.list({ pageSize: 500 }))) {
        if (found.scheduleId.startsWith(prefix)) yield keptOf(found, prefix);
      }
    },
  };
}

function keptOf({ scheduleId, state, info }: ScheduleSummary, prefix: string): KeptSchedule {
  const [workspace = '', ...flow] = scheduleId.slice(prefix.length).split('/');
  return {
    ref: { workspace, flow: flow.join('/') },
    note: state.note ?? null,
    paused: state.paused,
    next: info.nextActionTimes.map((at) => at.getTime()),
  };
}

function calendarOf(at: number): CalendarSpec {
  const date = new Date(at);
  return {
    year: date.getUTCFullYear(),
    month: MONTHS[date.getUTCMonth()] ?? 'JANUARY',
    dayOfMonth: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  };
}
