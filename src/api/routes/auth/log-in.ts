import { createRoute } from '@hono/zod-openapi';
import { LogInBody, SessionView } from '../../../contract/auth.js';
import { logIn, readSession, sessionCookie } from '../../../people/index.js';
import { refuseForeignPage } from '../../auth/same-origin.js';
import { browserOf } from '../../auth/session.js';
import { defineRoute } from '../../define-route.js';
import { badCredentials, jsonBody, limitedResponse, okResponse } from '../../schemas.js';

export const postLogin = defineRoute({
  access: 'open',
  sends: ['Set-Cookie'],
  route: createRoute({
    method: 'post',
    path: '/api/auth/login',
    summary: 'Sign in: begins a session and sets its cookie',
    tags: ['Authentication'],
    request: { body: jsonBody(LogInBody) },
    responses: { ...okResponse(SessionView, 'Who is signed in'), ...badCredentials, ...limitedResponse },
  }),
  handle: async (c) => {
    refuseForeignPage(c);
    const { deps } = c.var;
    const { caller, token } = await logIn(deps, c.req.valid('json'), browserOf(c));
    c.header('Set-Cookie', sessionCookie(deps.config, token));
    c.header('Cache-Control', 'no-store');
    return c.json(await readSession(deps, caller), 200);
  },
});
