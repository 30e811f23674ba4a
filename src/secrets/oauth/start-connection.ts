import {
  allowInsecureRequests,
  buildAuthorizationUrl,
  Configuration,
  calculatePKCECodeChallenge,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { StartConnectionBody, StartedConnection } from '../../contract/oauth.js';
import type { Deps } from '../../deps.js';
import { audit } from '../../people/index.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { checkSecretName } from '../names.js';
import { dialectOf } from '../tokens/dialects.js';
import { vaultToWrite } from '../vault.js';
import { type ClientRow, findClient, resolveRow } from './client-rows.js';
import { redirectUriOf } from './redirect-uri.js';
import { insertState } from './state-rows.js';

export interface Started extends StartedConnection {
  /** For the cookie that binds the state to this browser. */
  readonly nonce: string;
}

/**
 * Begins a connection: the address at which the person agrees. `nonce` is the one that this browser holds from an
 * earlier start, so that two tabs do not take each other's.
 */
export async function startConnection(
  deps: Deps,
  caller: Caller,
  {
    client: name,
    secret,
    workspace,
    nonce = randomNonce(),
  }: StartConnectionBody & { readonly nonce?: string | undefined },
): Promise<Started> {
  const { person } = caller;
  if (person === null) throw new Refusal('forbidden', 'needs a signed-in person', { need: 'person' });
  checkSecretName(secret);
  const state = randomState();
  const verifier = randomPKCECodeVerifier();
  const redirectUri = redirectUriOf(deps);
  return deps.db.transaction(async (tx) => {
    const vault = await vaultToWrite(tx, caller, workspace);
    const client = await findClient(tx, caller.tenant, name);
    if (client === null) throw notFound('OAuth client');
    const url = await authorizeUrl(client, { state, verifier, redirectUri });
    const pending = { tenant: caller.tenant, member: person.id, clientId: client.id, secret, ...vault, redirectUri };
    const expiresAt = await insertState(tx, deps.keys, { ...pending, verifier, state, nonce });
    await audit(tx, caller, 'oauth.start', secret, { client: client.name, workspace: workspace ?? null });
    return { url, expiresAt: expiresAt.toISOString(), nonce };
  });
}

async function authorizeUrl(
  row: ClientRow,
  { state, verifier, redirectUri }: { state: string; verifier: string; redirectUri: string },
): Promise<string> {
  const client = resolveRow(row);
  const server = { issuer: new URL(client.tokenUrl).origin, authorization_endpoint: client.authorizeUrl };
  const config = new Configuration(server, row.client, {}, None());
  // Which addresses may do without TLS was decided when the client was registered.
  allowInsecureRequests(config);
  const url = buildAuthorizationUrl(config, {
    ...client.params,
    ...(client.scopes.length > 0 && { scope: client.scopes.join(client.separator) }),
    redirect_uri: redirectUri,
    response_type: 'code',
    state,
    ...(!dialectOf(client.tokenUrl).noPkce && {
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }),
  });
  return url.href;
}
