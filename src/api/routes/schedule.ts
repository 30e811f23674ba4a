import { createRoute } from '@hono/zod-openapi';
import { Page } from '../../contract/common.js';
import { ChangeSchedule, ScheduleChanged, ScheduleList } from '../../contract/schedules.js';
import { changeSchedule, listSchedules } from '../../triggers/index.js';
import { defineRoute, type Route } from '../define-route.js';
import { jsonBody, okResponse, spentResponse } from '../schemas.js';

const path = '/api/schedule' as const;

const getSchedules = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path,
    summary: 'The scheduled flows of all workspaces that the caller may see, with the next times of each',
    tags: ['Schedules'],
    request: { query: Page },
    responses: okResponse(ScheduleList),
  }),
  handle: async (c) => c.json(await listSchedules(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

const postSchedule = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  route: createRoute({
    method: 'post',
    path,
    summary: 'Pause or resume a schedule, run it now, or set when it fires',
    tags: ['Schedules'],
    request: { body: jsonBody(ChangeSchedule) },
    responses: { ...okResponse(ScheduleChanged, 'The schedule as it is now'), ...spentResponse },
  }),
  handle: async (c) => {
    const input = { ...c.req.valid('json'), recordAnswer: c.var.recordAnswer?.(200) };
    return c.json(await changeSchedule(c.var.deps, c.var.caller, input), 200);
  },
});

export const scheduleRoutes: readonly Route[] = [getSchedules, postSchedule];
