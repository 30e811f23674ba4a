import type { OAuthClientBody, OAuthClientList } from '../contract/oauth.js';
import type { Deps } from '../deps.js';
import type { Caller } from '../shared/roles.js';
import { CLIENT_COLUMNS, type ClientRow, resolveRow } from './client-rows.js';
import { PROVIDERS } from './providers.js';
import { redirectUriOf } from './redirect-uri.js';

/** The account's clients by name, never their secrets, and the providers that need no URLs. */
export async function listClients(deps: Deps, { tenant }: Caller): Promise<OAuthClientList> {
  const rows = await deps.db.query<ClientRow>({
    name: 'oauth-clients-list',
    text: `SELECT ${CLIENT_COLUMNS} FROM oauth_client WHERE tenant_id = $1 ORDER BY name`,
    values: [tenant],
  });
  const providers = Object.entries(PROVIDERS).map(([provider, { scopes }]) => ({ provider, scopes: [...scopes] }));
  return { clients: rows.map((row) => toClientBody(deps, row)), providers, redirectUri: redirectUriOf(deps) };
}

export function toClientBody(deps: Pick<Deps, 'config'>, row: ClientRow): OAuthClientBody {
  const { provider, authorizeUrl, tokenUrl, scopes, params } = resolveRow(row);
  return {
    name: row.name,
    client: row.client,
    config: {
      provider,
      authorize_url: authorizeUrl,
      token_url: tokenUrl,
      scopes: [...scopes],
      params: { ...params },
    },
    redirectUri: redirectUriOf(deps),
    createdAt: row.createdAt.toISOString(),
  };
}
