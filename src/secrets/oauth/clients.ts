import {
  type OAuthClientBody,
  OAuthClientConfig,
  type OAuthClientList,
  type RegisterOAuthClientBody,
  type RemovedOAuthClient,
} from '../../contract/oauth.js';
import type { Deps } from '../../deps.js';
import { audit } from '../../people/index.js';
import type { InstallKeys } from '../../platform/config/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { baseUrlOf } from '../../shared/base-url.js';
import { keyCursors, type PageInput } from '../../shared/cursor.js';
import { isName, newId } from '../../shared/ids.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { clientPlace, open, seal } from '../envelope.js';
import { PROVIDERS } from './providers.js';

const CLIENT_COLUMNS = `id, tenant_id AS tenant, name, client, config, key_id AS "keyId",
  wrapped_key AS "wrappedKey", sealed, created_at AS "createdAt"`;

const cursors = keyCursors('oauth-clients');

/** Registers an OAuth client of the account: a built-in provider's by its id and secret, any other by its URLs. */
export async function registerClient(
  deps: Deps,
  caller: Caller,
  { name, client, config: given = {} }: RegisterOAuthClientBody,
): Promise<OAuthClientBody> {
  requireEveryWorkspace(caller);
  const { client_secret: secret, ...config } = given;
  checkClient(deps, name, config);
  if (secret === undefined && config.auth !== 'none')
    throw refused('give config.client_secret, or config.auth "none" for a client that has no secret');
  const id = newId();
  const envelope = secret === undefined ? null : seal(deps.keys, clientPlace({ tenant: caller.tenant, id }), secret);
  const row = await deps.db.transaction(async (tx) => {
    const [made] = await tx.query<ClientRow>({
      name: 'oauth-client-insert',
      text: `INSERT INTO oauth_client (id, tenant_id, name, client, config, key_id, wrapped_key, sealed)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, name) DO NOTHING RETURNING ${CLIENT_COLUMNS}`,
      values: [
        ...[id, caller.tenant, name, client, JSON.stringify(config)],
        ...[envelope?.keyId, envelope?.wrappedKey, envelope?.sealed],
      ],
    });
    if (made) await audit(tx, caller, 'oauth.client.create', name, { client });
    return made;
  });
  if (row) return toClientBody(deps, row);
  throw new Refusal('conflict', `there is an OAuth client ${name}: delete it first, or choose another name`);
}

/** Parameters that the service sets, since they make the flow safe or decide where its answer arrives. */
const OURS = new Set([
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'state', 'code_challenge'],
  ...['code_challenge_method', 'request', 'request_uri'],
]);

function checkClient({ net }: Deps, name: string, config: OAuthClientConfig): void {
  if (!isName(name)) throw refused('the name must be of lower-case words joined by hyphens, such as google-ads');
  if (config.provider !== undefined && !isProvider(config.provider))
    throw refused(`config.provider is none of ${Object.keys(PROVIDERS).join(', ')}: leave it out and give the URLs`);
  const taken = Object.keys(config.params ?? {}).filter((param) => OURS.has(param.toLowerCase()));
  if (taken.length > 0) throw refused(`config.params: ${taken.join(', ')} is set by the service: leave it out`);
  const client = resolveClient(name, config);
  if (client === null) throw refused('give config.provider, or both config.authorize_url and config.token_url');
  const urls = { authorize_url: client.authorizeUrl, token_url: client.tokenUrl };
  for (const [key, url] of Object.entries(urls)) {
    const fault = net.check(url, { httpsOnly: true });
    if (fault) throw refused(`config.${key}: ${fault.message}`);
  }
}

function refused(message: string): Refusal {
  return new Refusal('refused', message, { code: 'oauth/bad-client' });
}

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

function toClientBody(deps: Pick<Deps, 'config'>, row: ClientRow): OAuthClientBody {
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

/** Deletes a client. Secrets that were connected through it hold a copy of its settings and keep working. */
export async function deleteClient(
  deps: Deps,
  caller: Caller,
  { name }: { readonly name: string },
): Promise<RemovedOAuthClient> {
  requireEveryWorkspace(caller);
  await deps.db.transaction(async (tx) => {
    const gone = await tx.query({
      name: 'oauth-client-delete',
      text: 'DELETE FROM oauth_client WHERE tenant_id = $1 AND name = $2 RETURNING 1',
      values: [caller.tenant, name],
    });
    if (gone.length === 0) throw notFound('OAuth client');
    await audit(tx, caller, 'oauth.client.delete', name);
  });
  return { ok: true, name };
}

/** The key and the sealed columns are null for a client without a secret. */
export interface ClientRow
  extends Pick<TableRow<'OauthClient'>, 'id' | 'name' | 'client' | 'keyId' | 'wrappedKey' | 'sealed' | 'createdAt'> {
  readonly config: unknown;
  readonly tenant: string;
}

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

/** Null for a config with neither a built-in provider nor both URLs. */
function resolveClient(name: string, config: OAuthClientConfig): ProviderClient | null {
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

function isProvider(name: string): boolean {
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

/** Finds a client by its name, else by its client id. */
export async function findClient(sql: Sql, tenant: string, name: string): Promise<ClientRow | null> {
  const [row] = await sql.query<ClientRow>({
    name: 'oauth-client-find',
    text: `SELECT ${CLIENT_COLUMNS} FROM oauth_client WHERE tenant_id = $1 AND (name = $2 OR client = $2)
      ORDER BY name = $2 DESC, created_at LIMIT 1`,
    values: [tenant, name],
  });
  return row ?? null;
}

/**
 * A client serves the connections of every workspace and decides where their codes are sent. A caller with access to some
 * workspaces could redirect the codes of the others.
 */
function requireEveryWorkspace({ workspaces }: Caller): void {
  if (workspaces === null) return;
  throw new Refusal(
    'forbidden',
    'every workspace uses an OAuth client, and your access is limited to some workspaces',
    {
      need: 'every workspace',
    },
  );
}

/**
 * The URL to which providers redirect people. Without a public URL it is the listening address, for browsers on this
 * machine.
 */
export function redirectUriOf({ config }: Pick<Deps, 'config'>): string {
  return `${baseUrlOf(config)}/api/oauth/callback`;
}
