import { createRoute } from '@hono/zod-openapi';
import { html } from 'hono/html';
import { ErrorBody } from '../../../contract/common.js';
import { CallbackQuery } from '../../../contract/oauth.js';
import { type Connected, finishConnection } from '../../../secrets/index.js';
import { defineRoute } from '../../define-route.js';
import { page, setPageHeaders } from '../../pages/page.js';
import { jsonResponse, rawResponse } from '../../schemas.js';
import { readNonce } from './nonce-cookie.js';

/** A GET that changes state, since the provider redirects the browser to it. The `state` parameter makes it safe. */
export const finishOAuth = defineRoute({
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
