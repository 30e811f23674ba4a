import { createRoute } from '@hono/zod-openapi';
import {
  Done,
  Ended,
  EndSessions,
  LogInBody,
  PasswordBody,
  SessionList,
  SessionView,
  SignedUp,
  SignInForm,
  SignInQuery,
  SignUpBody,
  Timezone,
  TimezoneBody,
} from '../../contract/auth.js';
import {
  changePassword,
  endSessions,
  listSessions,
  logIn,
  logOut,
  readSession,
  sessionCookie,
  setTimezone,
  signUp,
} from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import { clientAddress } from '../auth/client-address.js';
import { refuseForeignPage } from '../auth/same-origin.js';
import { browserOf } from '../auth/session.js';
import { defineRoute, type Route } from '../define-route.js';
import { setPageHeaders } from '../pages/page.js';
import { ownPath, signInPath } from '../pages/paths.js';
import { signInPage } from '../pages/sign-in.js';
import {
  acceptedResponse,
  badCredentials,
  jsonBody,
  limitedResponse,
  okResponse,
  Page,
  rawResponse,
} from '../schemas.js';

const postLogin = defineRoute({
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

const postLogout = defineRoute({
  access: { role: 'viewer', person: true },
  idempotent: 'natural',
  route: createRoute({
    method: 'post',
    path: '/api/auth/logout',
    summary: 'End the session',
    tags: ['Authentication'],
    responses: okResponse(Done),
  }),
  handle: async (c) => {
    await logOut(c.var.deps, c.var.caller);
    c.header('Set-Cookie', sessionCookie(c.var.deps.config, null));
    return c.json({ ok: true as const }, 200);
  },
});

const postPassword = defineRoute({
  access: { role: 'viewer', person: true },
  route: createRoute({
    method: 'post',
    path: '/api/auth/password',
    summary: 'Change one’s password, which ends one’s other sessions',
    tags: ['Authentication'],
    request: { body: jsonBody(PasswordBody) },
    responses: { ...okResponse(Ended, 'How many other sessions ended'), ...limitedResponse },
  }),
  handle: async (c) => {
    const ended = await changePassword(c.var.deps, c.var.caller, c.req.valid('json'));
    return c.json({ ok: true as const, ended }, 200);
  },
});

const getSession = defineRoute({
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

const getSessions = defineRoute({
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

const deleteSessions = defineRoute({
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

const getSignIn = defineRoute({
  access: 'open',
  page: true,
  route: createRoute({
    method: 'get',
    path: '/sign-in',
    summary: 'The page where a person signs in',
    tags: ['Authentication'],
    request: { query: SignInQuery },
    responses: { 200: rawResponse('text/html', 'The page') },
  }),
  handle: async (c) => {
    const { next, error } = c.req.valid('query');
    // With no-referrer the form's origin would be hidden.
    setPageHeaders(c, 'same-origin');
    return c.html(signInPage({ next: ownPath(next), error }));
  },
});

const postSignIn = defineRoute({
  access: 'open',
  page: true,
  sends: ['Set-Cookie'],
  route: createRoute({
    method: 'post',
    path: '/sign-in',
    summary: 'Sign in by the page’s form',
    tags: ['Authentication'],
    request: { body: { required: true, content: { 'application/x-www-form-urlencoded': { schema: SignInForm } } } },
    responses: { 303: { description: 'On to `next`, or back to the page' }, ...limitedResponse },
  }),
  handle: async (c) => {
    refuseForeignPage(c);
    const { next, ...credentials } = c.req.valid('form');
    const token = await logIn(c.var.deps, credentials, browserOf(c)).then(
      (loggedIn) => loggedIn.token,
      (error: unknown) => {
        if (error instanceof Refusal && error.kind === 'unauthenticated') return null;
        throw error;
      },
    );
    if (token === null) return c.redirect(signInPath(ownPath(next), 'bad-credentials'), 303);
    c.header('Set-Cookie', sessionCookie(c.var.deps.config, token));
    return c.redirect(ownPath(next), 303);
  },
});

const postSignup = defineRoute({
  access: 'open',
  route: createRoute({
    method: 'post',
    path: '/api/auth/signup',
    summary: 'Sign up: an account of one’s own, or into one by an invite',
    tags: ['Authentication'],
    request: { body: jsonBody(SignUpBody) },
    responses: {
      ...acceptedResponse(SignedUp, 'The same whether or not the address was taken: only a sign-in shows it'),
      ...limitedResponse,
    },
  }),
  handle: async (c) => {
    refuseForeignPage(c);
    const { email, password, account = null, invite = null } = c.req.valid('json');
    await signUp(c.var.deps, { email, password, account, invite, address: clientAddress(c) });
    return c.json({ ok: true as const, next: 'sign in: POST /api/auth/login' }, 202);
  },
});

const postTimezone = defineRoute({
  access: { role: 'viewer', person: true },
  idempotent: 'natural',
  route: createRoute({
    method: 'post',
    path: '/api/auth/timezone',
    summary: 'Set one’s own time zone; null clears it',
    tags: ['Authentication'],
    request: { body: jsonBody(TimezoneBody) },
    responses: okResponse(Timezone),
  }),
  handle: async (c) => {
    const { timezone } = c.req.valid('json');
    await setTimezone(c.var.deps, c.var.caller, timezone);
    return c.json({ ok: true as const, timezone }, 200);
  },
});

export const authRoutes: readonly Route[] = [
  postSignup,
  postLogin,
  postLogout,
  getSession,
  getSessions,
  deleteSessions,
  postPassword,
  postTimezone,
  getSignIn,
  postSignIn,
];
