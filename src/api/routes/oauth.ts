import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { ErrorBody } from '../../contract/common.js';
import {
  CallbackQuery,
  OAuthClientBody,
  OAuthClientList,
  OAuthClientQuery,
  RegisterOAuthClientBody,
  RemovedOAuthClient,
  StartConnectionBody,
  StartedConnection,
} from '../../contract/oauth.js';
import {
  type Connected,
  deleteClient,
  finishConnection,
  listClients,
  registerClient,
  STATE_MINUTES,
  startConnection,
} from '../../secrets/index.js';
import { defineRoute, type Route } from '../define-route.js';
import type { AppEnv } from '../env.js';
import { page, setPageHeaders } from '../pages/page.js';
import { createdResponse, jsonBody, jsonResponse, okResponse, Page, rawResponse } from '../schemas.js';

/** Binds connections to the browser that started them. Lax, since the provider redirects the browser by a link. */
const NAME = 'service_oauth';

/** A GET that changes state, since the provider redirects the browser to it. The `state` parameter makes it safe. */
const finishOAuth = defineRoute({
  access: { role: 'admin', person: true },
  page: true,
  route: createRoute({
    method: 'get',
    path: '/api/oauth/callback',
    summary: 'Where a provider sends the person back to',
    tags: ['OAuth'],
    request: { query: CallbackQuery },
    responses: {
      200: rawResponse('text/html', 'What came of it'),
      409: jsonResponse(ErrorBody, 'The client or the workspace changed meanwhile'),
    },
  }),
  handle: async (c) => {
    setPageHeaders(c);
    const connected = await finishConnection(c.var.deps, c.var.caller, {
      ...c.req.valid('query'),
      nonce: readNonce(c),
    });
    return c.html(await connectedPage(connected), 200);
  },
});

const tags = ['OAuth'];

const path = '/api/oauth/clients';

const listOAuthClients = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path,
    summary: 'List the OAuth clients of the account, and the providers that are built in',
    tags,
    request: { query: Page },
    responses: okResponse(OAuthClientList, 'By name, without their secrets'),
  }),
  handle: async (c) => c.json(await listClients(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

const registerOAuthClient = defineRoute({
  access: { role: 'admin' },
  idempotent: true,
  route: createRoute({
    method: 'post',
    path,
    summary: 'Register an OAuth client of a provider',
    tags,
    request: { body: jsonBody(RegisterOAuthClientBody) },
    responses: createdResponse(OAuthClientBody, 'The client, with the redirect URI to register at the provider'),
  }),
  handle: async (c) => c.json(await registerClient(c.var.deps, c.var.caller, c.req.valid('json')), 201),
});

const deleteOAuthClient = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'delete',
    path,
    summary: 'Forget an OAuth client; its connections stay',
    tags,
    request: { query: OAuthClientQuery },
    responses: okResponse(RemovedOAuthClient),
  }),
  handle: async (c) => c.json(await deleteClient(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

const startOAuth = defineRoute({
  access: { role: 'admin', person: true },
  sends: ['Set-Cookie'],
  route: createRoute({
    method: 'post',
    path: '/api/oauth/start',
    summary: 'Begin a connection: where the person agrees, in this browser, within ten minutes',
    tags: ['OAuth'],
    request: { body: jsonBody(StartConnectionBody) },
    responses: okResponse(StartedConnection),
  }),
  handle: async (c) => {
    const input = { ...c.req.valid('json'), nonce: readNonce(c) };
    const { nonce, ...started } = await startConnection(c.var.deps, c.var.caller, input);
    setNonce(c, nonce);
    c.header('Cache-Control', 'no-store');
    return c.json(started, 200);
  },
});

export const oauthRoutes: readonly Route[] = [
  listOAuthClients,
  registerOAuthClient,
  deleteOAuthClient,
  startOAuth,
  finishOAuth,
];

function connectedPage({ secret, workspace, client, renews }: Connected) {
  const vault = workspace === null ? html`the account’s vault` : html`the vault of <strong>${workspace}</strong>`;
  return page(
    'Connected',
    html`<p>The secret <strong>${secret}</strong> is in ${vault}, connected through <strong>${client}</strong>.</p>
    <p>${
      renews
        ? 'Its access token is renewed by itself, whenever a step needs it.'
        : 'The provider gave a token that does not end, so it is kept as it is.'
    } You can close this page.</p>`,
  );
}

function readNonce(c: Context): string | undefined {
  const value = getCookie(c, NAME);
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

function setNonce<E extends AppEnv>(c: Context<E>, nonce: string): void {
  setCookie(c, NAME, nonce, {
    path: '/api/oauth',
    httpOnly: true,
    sameSite: 'Lax',
    secure: c.var.deps.config.publicUrl?.startsWith('https:') ?? false,
    maxAge: STATE_MINUTES * 60,
  });
}
