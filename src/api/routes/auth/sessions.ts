import { createRoute } from '@hono/zod-openapi';
import { Ended, EndSessions, SessionList, SessionView } from '../../../contract/auth.js';
import { endSessions, listSessions, readSession } from '../../../people/index.js';
import { Refusal } from '../../../shared/refusal.js';
import { defineRoute } from '../../define-route.js';
import { okResponse, Page } from '../../schemas.js';

export const getSession = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/auth/session',
    summary: 'Who am I, and by which session',
    tags: ['Authentication'],
    responses: okResponse(SessionView, 'Who calls'),
  }),
  handle: async (c) => {
    c.header('Cache-Control', 'no-store');
    return c.json(await readSession(c.var.deps, c.var.caller), 200);
  },
});

export const getSessions = defineRoute({
  access: { role: 'viewer', person: true },
  route: createRoute({
    method: 'get',
    path: '/api/auth/sessions',
    summary: 'One’s own open sessions',
    tags: ['Authentication'],
    request: { query: Page },
    responses: okResponse(SessionList, 'The one used last first; 50 at most are kept'),
  }),
  handle: async (c) => c.json(await listSessions(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

export const deleteSessions = defineRoute({
  access: { role: 'viewer', person: true },
  route: createRoute({
    method: 'delete',
    path: '/api/auth/sessions',
    summary: 'End one of one’s sessions, or all others',
    tags: ['Authentication'],
    request: { query: EndSessions, body: { content: { 'application/json': { schema: EndSessions } } } },
    responses: okResponse(Ended, 'How many ended'),
  }),
  handle: async (c) => {
    const { id, others } = { ...c.req.valid('query'), ...c.req.valid('json') };
    if ((id !== undefined) === (others === true))
      throw new Refusal('refused', 'say which: `id` of one session, or `others: true`; in the query or in the body');
    const which = id === undefined ? 'others' : { id };
    return c.json({ ok: true as const, ended: await endSessions(c.var.deps, c.var.caller, which) }, 200);
  },
});
