import { z } from 'zod';
import { Next, Time, type Wire } from './common.js';
import { RunStatus } from './runs.js';

const Name = z.string().min(1).max(200);

const ScheduleBody = z
  .object({
    workspace: z.string(),
    flow: z.string(),
    cron: z.string(),
    timezone: z.string().describe('The flow’s own, or the workspace’s, the account’s, the owner’s, UTC'),
    next: z.array(Time).describe('The next three times; none while it is paused or switched off'),
    fault: z.string().nullable().describe('Why it never fires although it is on; null when nothing is wrong'),
    lastRun: z
      .object({
        id: z.string(),
        status: RunStatus,
        scheduledFor: Time,
        createdAt: Time,
        finishedAt: Time.nullable(),
      })
      .nullable()
      .describe('The newest run that it started'),
    enabled: z.boolean(),
    paused: z.boolean(),
    catchUp: z.enum(['last', 'none', 'all']),
    overlap: z.enum(['skip', 'queue', 'allow', 'cancel']),
    firings: z
      .array(
        z.object({
          scheduledFor: Time,
          until: Time.nullable().describe('The last of the times that were left out together'),
          times: z.number().int().describe('How many; 1000 means that or more'),
          outcome: z.enum(['started', 'waiting', 'skipped', 'refused']),
          reason: z.string().nullable(),
          runId: z.string().nullable(),
        }),
      )
      .describe('The outcome of the latest times, newest first'),
  })
  .meta({ id: 'Schedule' });

export type ScheduleBody = Wire<typeof ScheduleBody>;

/** GET /api/schedule */
export const ScheduleList = z.object({ schedules: z.array(ScheduleBody), next: Next }).meta({ id: 'ScheduleList' });
export type ScheduleList = Wire<typeof ScheduleList>;

/** POST /api/schedule */
export const ChangeSchedule = z
  .strictObject({
    workspace: Name,
    flow: Name,
    action: z.enum(['pause', 'resume', 'run-now', 'set']),
    cron: z.string().min(1).max(200).optional().describe('For set: minute hour day month weekday'),
    timezone: z.string().min(1).max(64).nullable().optional().describe('For set; null takes the flow’s own away'),
  })
  .meta({ id: 'ChangeSchedule' });

export const ScheduleChanged = z
  .object({ ok: z.literal(true), schedule: ScheduleBody, runId: z.string().nullable().describe('Of run-now') })
  .meta({ id: 'ScheduleChanged' });
export type ScheduleChanged = Wire<typeof ScheduleChanged>;
