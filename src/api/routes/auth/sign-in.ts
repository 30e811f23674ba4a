import { createRoute } from '@hono/zod-openapi';
import { SignInForm, SignInQuery } from '../../../contract/auth.js';
import { logIn, sessionCookie } from '../../../people/index.js';
import { Refusal } from '../../../shared/refusal.js';
import { refuseForeignPage } from '../../auth/same-origin.js';
import { browserOf } from '../../auth/session.js';
import { defineRoute } from '../../define-route.js';
import { setPageHeaders } from '../../pages/page.js';
import { ownPath, signInPath } from '../../pages/paths.js';
import { signInPage } from '../../pages/sign-in.js';
import { limitedResponse, rawResponse } from '../../schemas.js';

export const getSignIn = defineRoute({
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

export const postSignIn = defineRoute({
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
