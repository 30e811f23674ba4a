import { createHash } from 'node:crypto';
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
import type { InstallKeys } from '../../platform/config/index.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { sweepRows } from '../../platform/db/index.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { open, seal, statePlace } from '../envelope.js';
import { dialectOf } from '../tokens/token-endpoint.js';
import { checkSecretName, vaultToWrite } from '../vault.js';
import { type ClientRow, findClient, redirectUriOf, resolveRow } from './clients.js';

export const STATE_MINUTES = 10;

interface Started extends StartedConnection {
  /** For the cookie that binds the state to this browser. */
  readonly nonce: string;
}

/**
 * Starts a connection and returns the URL where the person grants access. `nonce` is the one that this browser has from
 * an earlier start, which is used again so that two tabs do not invalidate each other.
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
  // The client's registration has decided which URLs may do without TLS.
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

/** A connection that a person has started, until the provider redirects them back. */
export interface PendingConnection {
  readonly tenant: string;
  readonly member: string;
  readonly clientId: string;
  readonly secret: string;
  /** The workspace's id; null for the account's vault. */
  readonly workspace: string | null;
  readonly redirectUri: string;
  /** The PKCE verifier, stored encrypted. */
  readonly verifier: string;
}

/** What the browser presents: the state from the URL, the nonce from the cookie. Only their hashes are stored. */
interface BrowserProof {
  readonly state: string;
  readonly nonce: string;
}

async function insertState(
  sql: Sql,
  keys: InstallKeys,
  { state, nonce, verifier, ...pending }: PendingConnection & BrowserProof,
): Promise<Date> {
  const hash = hashOf(state);
  const { keyId, wrappedKey, sealed } = seal(keys, statePlace({ tenant: pending.tenant, hash }), verifier);
  const { tenant, member, clientId, secret, workspace, redirectUri } = pending;
  await sweepRows(sql, 'oauth_state', `expires_at < now() - interval '1 day'`);
  const [row] = await sql.query<{ expiresAt: Date }>({
    name: 'oauth-state-insert',
    text: `INSERT INTO oauth_state (hash, nonce_hash, tenant_id, member_id, client_id, secret_name, workspace_id,
        redirect_uri, key_id, wrapped_key, sealed, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now() + make_interval(mins => $12))
      RETURNING expires_at AS "expiresAt"`,
    values: [
      ...[hash, hashOf(nonce), tenant, member, clientId, secret, workspace, redirectUri],
      ...[keyId, wrappedKey, sealed, STATE_MINUTES],
    ],
  });
  if (row === undefined) throw new Error('a state was not stored');
  return row.expiresAt;
}

type StateRow = Omit<PendingConnection, 'verifier'> & Pick<TableRow<'OauthState'>, 'keyId' | 'wrappedKey' | 'sealed'>;

/** Redeems the state: once, before it expires, for the person and the browser that started it. Otherwise null. */
export async function claimState(
  sql: Sql,
  keys: InstallKeys,
  { state, nonce, tenant, member }: BrowserProof & Pick<PendingConnection, 'tenant' | 'member'>,
): Promise<PendingConnection | null> {
  const hash = hashOf(state);
  const [row] = await sql.query<StateRow>({
    name: 'oauth-state-claim',
    text: `UPDATE oauth_state SET used_at = now()
      WHERE hash = $1 AND nonce_hash = $2 AND tenant_id = $3 AND member_id = $4
        AND used_at IS NULL AND expires_at > now()
      RETURNING tenant_id AS tenant, member_id AS member, client_id AS "clientId", secret_name AS secret,
        workspace_id AS workspace, redirect_uri AS "redirectUri", key_id AS "keyId", wrapped_key AS "wrappedKey", sealed`,
    values: [hash, hashOf(nonce), tenant, member],
  });
  if (row === undefined) return null;
  const { keyId, wrappedKey, sealed, ...pending } = row;
  return { ...pending, verifier: open(keys, statePlace({ tenant, hash }), { keyId, wrappedKey, sealed }) };
}

/** Why a state could not be redeemed, for the person who started it. Anyone else learns only that it is unknown. */
export async function whyNoState(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { state, tenant, member }: Pick<BrowserProof, 'state'> & Pick<PendingConnection, 'tenant' | 'member'>,
): Promise<'unknown' | 'used' | 'expired' | 'browser'> {
  const row = await db.prisma.oauthState.findFirst({
    select: { usedAt: true, expiresAt: true },
    where: { hash: hashOf(state), tenantId: tenant, memberId: member },
  });
  if (row === null) return 'unknown';
  if (row.usedAt !== null) return 'used';
  return row.expiresAt.getTime() <= clock.now() ? 'expired' : 'browser';
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
