import { authorizationCodeGrant } from 'openid-client';
import type { CallbackQuery } from '../../contract/oauth.js';
import type { Deps } from '../../deps.js';
import { audit } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { storeGrant } from '../tokens/renew-token.js';
import { askTokenEndpoint, type Grant, GrantFault, plainText } from '../tokens/token-endpoint.js';
import { vaultToWrite } from '../vault.js';
import { writeSecret } from '../write-secret.js';
import { type ClientRow, clientSecretOf, type ProviderClient, resolveRow } from './clients.js';
import { claimState, type PendingConnection, whyNoState } from './start-connection.js';

/** Sentences for the errors in a provider's redirect (RFC 6749, 4.1.2.1), which say what the person can do. */
const SENTENCES: Readonly<Record<string, string>> = {
  access_denied: 'Access was not granted. Start again if that was a mistake.',
  invalid_scope:
    'The provider does not know one of the scopes, or does not grant it to this client: correct the client’s scopes.',
  unauthorized_client: 'The provider does not let this client ask: check its settings at the provider.',
  invalid_request: 'The provider rejects the request: check the client’s addresses and parameters.',
  unsupported_response_type: 'The provider gives no codes to this client: check its settings at the provider.',
  server_error: 'The provider had a fault of its own. Try again later.',
  temporarily_unavailable: 'The provider is overloaded or down. Try again later.',
  redirect_uri_mismatch: 'The provider does not know the redirect URI: register it at the provider.',
};

export interface Connected {
  readonly secret: string;
  /** The workspace's name; null for the account's vault. */
  readonly workspace: string | null;
  readonly client: string;
  /** False for a token that does not expire, which is stored as a plain value. */
  readonly renews: boolean;
}

const UNUSABLE = {
  unknown: 'This link belongs to no connection that you began. Sign in as the person who began it, or start again.',
  used: 'This link was used already: a connection is made once. Start again if it is not there.',
  expired: 'The connection was not made within ten minutes. Start again.',
  browser: 'The connection was begun in another browser. Continue there, or start again here.',
} as const;

/**
 * Handles a provider's redirect: redeems the state, exchanges the code for tokens and stores the secret. Throws a Refusal
 * with the sentence to show; then nothing is stored.
 */
export async function finishConnection(
  deps: Deps,
  caller: Caller,
  { state, nonce, ...answer }: CallbackQuery & { readonly nonce: string | undefined },
): Promise<Connected> {
  const pending = await claim(deps, caller, { state, nonce });
  if (answer.error) throw new Refusal('refused', providerError(answer.error, answer.error_description));
  if (!answer.code) throw new Refusal('refused', 'The provider sent neither a code nor an error. Start again.');
  const row = await readClient(deps, pending.clientId);
  const client = resolveRow(row);
  const askedAt = deps.clock.now();
  const clientSecret = clientSecretOf(deps.keys, row);
  const grant = await exchange(deps, { ...answer, state, code: answer.code }, { row, client, pending, clientSecret });
  return store(deps, caller, { row, client, pending, clientSecret, grant, askedAt });
}

async function claim(
  { db, keys, clock }: Deps,
  { tenant, person }: Caller,
  { state, nonce }: { state: string | undefined; nonce: string | undefined },
): Promise<PendingConnection> {
  if (!state || person === null) throw new Refusal('refused', UNUSABLE.unknown);
  const owner = { state, tenant, member: person.id };
  const pending = nonce === undefined ? null : await claimState(db, keys, { ...owner, nonce });
  if (pending) return pending;
  const why = await whyNoState({ db, clock }, owner);
  throw new Refusal(why === 'unknown' || why === 'browser' ? 'forbidden' : 'conflict', UNUSABLE[why]);
}

/** Deleting a client ends its pending connections, so the client is missing only if it was deleted just now. */
async function readClient({ db }: Deps, id: string): Promise<ClientRow> {
  const row = await db.prisma.oauthClient.findFirst({ where: { id } });
  if (row) return { ...row, tenant: row.tenantId };
  throw new Refusal('conflict', 'The OAuth client was deleted meanwhile. Register it again, and start again.');
}

interface Connection {
  readonly row: ClientRow;
  readonly client: ProviderClient;
  readonly pending: PendingConnection;
  readonly clientSecret: string;
}

async function exchange(
  { net }: Deps,
  { state, code, iss }: { state: string | undefined; code: string; iss?: string | undefined },
  { row, client, pending, clientSecret }: Connection,
): Promise<Grant> {
  const { issuer, tokenUrl, auth } = client;
  // Without a known issuer there is nothing to compare with.
  const isNamed = issuer !== null && iss !== undefined;
  const query = new URLSearchParams({ code, state: state ?? '', ...(isNamed && { iss }) });
  const url = new URL(`${pending.redirectUri}?${query}`);
  const endpoint = { tokenUrl, clientId: row.client, clientSecret };
  const checks = { pkceCodeVerifier: pending.verifier, expectedState: state ?? '' };
  try {
    return await askTokenEndpoint(
      net,
      { ...endpoint, ...(issuer !== null && { issuer }), ...(auth !== undefined && { auth }) },
      (config) => authorizationCodeGrant(config, url, checks),
    );
  } catch (error) {
    if (error instanceof GrantFault) throw new Refusal('refused', `No connection was made: ${error.message}.`);
    throw new Refusal('refused', 'The answer is not that of the provider that was asked. Start again.');
  }
}

async function store(
  deps: Deps,
  caller: Caller,
  { row, client, pending, clientSecret, grant, askedAt }: Connection & { grant: Grant; askedAt: number },
): Promise<Connected> {
  const { secret, tenant } = pending;
  const { accessToken, refreshToken, expiresInSeconds } = grant;
  if (refreshToken === null && expiresInSeconds !== null)
    throw new Refusal(
      'refused',
      `The provider gave no refresh token, so the connection would end in ${Math.ceil(expiresInSeconds / 60)} minutes: ask for offline access in the client’s scopes or parameters. Nothing was stored.`,
    );
  return deps.db.transaction(async (tx) => {
    const workspace = await workspaceName(tx, pending);
    const vault = await vaultToWrite(tx, caller, workspace ?? undefined);
    const value =
      refreshToken === null
        ? ({ shape: 'value', value: accessToken } as const)
        : ({
            shape: 'oauth2',
            value: {
              token_url: client.tokenUrl,
              client_id: row.client,
              client_secret: clientSecret,
              refresh_token: refreshToken,
            },
          } as const);
    const { id } = await writeSecret(tx, deps.keys, { tenant, ...vault, name: secret, value });
    if (refreshToken !== null) await storeGrant(tx, deps.keys, { id, grant, askedAt });
    await audit(tx, caller, 'oauth.connect', secret, { client: row.name, workspace, shape: value.shape });
    return { secret, workspace, client: row.name, renews: refreshToken !== null };
  });
}

async function workspaceName(
  tx: Parameters<typeof vaultToWrite>[0],
  { workspace }: PendingConnection,
): Promise<string | null> {
  if (workspace === null) return null;
  const [row] = await tx.query<{ name: string }>('SELECT name FROM workspace WHERE id = $1', [workspace]);
  if (row) return row.name;
  throw new Refusal('conflict', 'The workspace was deleted meanwhile. Nothing was stored.');
}

/** Our own sentence, and the provider's text as one line of plain text. */
function providerError(error: string, description: string | undefined): string {
  const known = Object.hasOwn(SENTENCES, error) ? SENTENCES[error] : undefined;
  const sentence = known ?? 'The provider refused.';
  const words = plainText([known ? '' : error, description ?? ''].filter((part) => part !== '').join(': '));
  return words === '' ? sentence : `${sentence} It says: “${words}”`;
}
