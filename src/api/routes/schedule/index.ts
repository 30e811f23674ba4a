import type { Route } from '../../define-route.js';
import { getSchedules, postSchedule } from './schedule.js';

export const scheduleRoutes: readonly Route[] = [getSchedules, postSchedule];
