import { OAuthClientConfig } from '../../contract/oauth.js';
import type { InstallKeys } from '../../platform/config/index.js';
import type { OauthClient, Sql } from '../../platform/db/contract.js';
import { clientPlace } from '../envelope/places.js';
import { open } from '../envelope/seal.js';
import { PROVIDERS } from './providers.js';

/** Its key and what that seals are null for a client without a secret. */
export interface ClientRow
  extends Pick<OauthClient, 'id' | 'name' | 'client' | 'config'>,
    Pick<OauthClient, 'keyId' | 'wrappedKey' | 'sealed' | 'createdAt'> {
  readonly tenant: string;
}

export const CLIENT_COLUMNS = `id, tenant_id AS tenant, name, client, config, key_id AS "keyId",
  wrapped_key AS "wrappedKey", sealed, created_at AS "createdAt"`;

/** A registered client with everything that its config leaves to the provider's shape. */
export interface ProviderClient {
  readonly provider: string | null;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly issuer: string | null;
  readonly scopes: readonly string[];
  readonly separator: string;
  readonly params: Readonly<Record<string, string>>;
  readonly auth: OAuthClientConfig['auth'];
}

/** Null for one that names neither a shape nor both URLs. */
export function resolveClient(name: string, config: OAuthClientConfig): ProviderClient | null {
  const provider = config.provider ?? (isProvider(name) ? name : null);
  const shape = provider === null ? undefined : PROVIDERS[provider];
  const authorizeUrl = config.authorize_url ?? shape?.authorizeUrl;
  const tokenUrl = config.token_url ?? shape?.tokenUrl;
  if (authorizeUrl === undefined || tokenUrl === undefined) return null;
  return {
    provider,
    authorizeUrl,
    tokenUrl,
    issuer: config.issuer ?? shape?.issuer ?? null,
    scopes: config.scopes ?? shape?.scopes ?? [],
    separator: shape?.separator ?? ' ',
    params: { ...shape?.params, ...config.params },
    auth: config.auth,
  };
}

export function isProvider(name: string): boolean {
  return Object.hasOwn(PROVIDERS, name);
}

export function resolveRow({ name, config }: Pick<ClientRow, 'name' | 'config'>): ProviderClient {
  const client = resolveClient(name, OAuthClientConfig.parse(config));
  if (client) return client;
  throw new Error(`the OAuth client ${name} was stored without addresses`);
}

/** Empty for a client without a secret. */
export function clientSecretOf(keys: InstallKeys, row: ClientRow): string {
  const { keyId, wrappedKey, sealed } = row;
  if (keyId === null || wrappedKey === null || sealed === null) return '';
  return open(keys, clientPlace(row), { keyId, wrappedKey, sealed });
}

/** By its name, else by its client id. */
export async function findClient(sql: Sql, tenant: string, name: string): Promise<ClientRow | null> {
  const [row] = await sql.query<ClientRow>({
    name: 'oauth-client-find',
    text: `SELECT ${CLIENT_COLUMNS} FROM oauth_client WHERE tenant_id = $1 AND (name = $2 OR client = $2)
      ORDER BY name = $2 DESC, created_at LIMIT 1`,
    values: [tenant, name],
  });
  return row ?? null;
}
