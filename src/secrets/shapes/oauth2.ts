import { firstFault, lineFault, shortFault, urlFault } from './faults.js';
import type { ShapeRules } from './shape.js';

export const oauth2: ShapeRules<'oauth2'> = {
  fault: ({ token_url, client_id, client_secret, refresh_token, scope }) =>
    firstFault(
      lineFault('oauth2.token_url', token_url),
      urlFault('oauth2.token_url', token_url),
      lineFault('oauth2.client_id', client_id),
      lineFault('oauth2.client_secret', client_secret),
      shortFault('oauth2.client_secret', client_secret),
      lineFault('oauth2.refresh_token', refresh_token),
      shortFault('oauth2.refresh_token', refresh_token),
      scope === undefined ? null : lineFault('oauth2.scope', scope),
    ),
  hidden: ({ client_secret, refresh_token }) => [client_secret, refresh_token],
};
