import { createRoute } from '@hono/zod-openapi';
import { NotificationList, SigningSecret, TestedNotification, TestNotification } from '../../contract/notifications.js';
import { listNotifications, rotateSigningSecret, sendTest } from '../../notify/index.js';
import { defineRoute, type Route } from '../define-route.js';
import { jsonBody, okResponse, Page } from '../schemas.js';

const tags = ['Notifications'];

const getNotifications = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'get',
    path: '/api/notifications',
    summary: 'What was sent to whom in the last month, and the outcome',
    tags,
    request: { query: Page },
    responses: okResponse(NotificationList, 'The newest first'),
  }),
  handle: async (c) => c.json(await listNotifications(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

const postNotificationTest = defineRoute({
  access: { role: 'admin' },
  idempotent: true,
  route: createRoute({
    method: 'post',
    path: '/api/notifications/test',
    summary: 'Send a test to where notifications go, and return the outcome',
    tags,
    request: { body: jsonBody(TestNotification) },
    responses: okResponse(TestedNotification, 'Each target with its outcome'),
  }),
  handle: async (c) => c.json(await sendTest(c.var.deps, c.var.caller, c.req.valid('json')), 200),
});

const postSigningSecret = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'post',
    path: '/api/notifications/secret',
    summary: 'Make the next secret that signs POSTs, and show it this once',
    tags,
    responses: okResponse(SigningSecret, 'The secret'),
  }),
  handle: async (c) => {
    c.header('Cache-Control', 'no-store');
    return c.json(await rotateSigningSecret(c.var.deps, c.var.caller), 200);
  },
});

export const notificationRoutes: readonly Route[] = [getNotifications, postNotificationTest, postSigningSecret];
