import type { OAuthClientBody, OAuthClientList } from '../../contract/oauth.js';
import type { Deps } from '../../deps.js';
import { keyCursors, type PageInput } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';
import { CLIENT_COLUMNS, type ClientRow, resolveRow } from './client-rows.js';
import { PROVIDERS } from './providers.js';
import { redirectUriOf } from './redirect-uri.js';

const cursors = keyCursors('oauth-clients');

/** The account's clients by name, never their secrets, and the providers that need no URLs. */
export async function listClients(
  deps: Deps,
  { tenant }: Caller,
  { limit, cursor }: PageInput,
): Promise<OAuthClientList> {
  const rows = await deps.db.query<ClientRow>({
    name: 'oauth-clients-list',
    text: `SELECT ${CLIENT_COLUMNS} FROM oauth_client WHERE tenant_id = $1
      AND ($2::text IS NULL OR name COLLATE "C" > $2) ORDER BY name COLLATE "C" LIMIT $3`,
    values: [tenant, cursors.read(cursor), limit + 1],
  });
  const providers = Object.entries(PROVIDERS).map(([provider, { scopes }]) => ({ provider, scopes: [...scopes] }));
  const { page, next } = cursors.page(rows, limit, ({ name }) => name);
  return { clients: page.map((row) => toClientBody(deps, row)), next, providers, redirectUri: redirectUriOf(deps) };
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
