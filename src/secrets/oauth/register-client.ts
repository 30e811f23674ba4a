import type { OAuthClientBody, OAuthClientConfig, RegisterOAuthClientBody } from '../../contract/oauth.js';
import type { Deps } from '../../deps.js';
import { audit } from '../../people/index.js';
import { isName, newId } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { clientPlace } from '../envelope/places.js';
import { seal } from '../envelope/seal.js';
import { CLIENT_COLUMNS, type ClientRow, isProvider, resolveClient } from './client-rows.js';
import { toClientBody } from './list-clients.js';
import { PROVIDERS } from './providers.js';
import { requireEveryWorkspace } from './require-every-workspace.js';

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

/** What makes the flow safe, or brings its answer where we do not listen. */
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
