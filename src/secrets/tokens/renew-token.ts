import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { genericGrantRequest, refreshTokenGrant } from 'openid-client';
import type { Deps } from '../../deps.js';
import { audit } from '../../people/index.js';
import type { InstallKeys } from '../../platform/config/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { isConnectionLost } from '../../platform/db/index.js';
import { sleep } from '../../shared/deadline.js';
import { failpoint } from '../../shared/failpoint.js';
import { redactor } from '../../shared/redact.js';
import type { OpenedSecret, ShapeValues } from '../model.js';
import { lockSecret } from '../open-secret.js';
import { hiddenTexts } from '../shapes/index.js';
import { markReconnect, replaceSecret } from '../write-secret.js';
import { notifyTokenWaiters } from './await-change.js';
import { askTokenEndpoint, askWithoutClient, type Grant, GrantFault } from './token-endpoint.js';
import { type Failure, type Lease, releaseLease, storeToken, type TokenState, timesOf } from './token-rows.js';

/** How each shape gets a live token. Throws GrantFault. */
const RENEWALS: { readonly [S in TokenShape]: Renew<S> } = {
  oauth2: ({ net }, { token_url, client_id, client_secret, refresh_token, scope }) => {
    const endpoint = { tokenUrl: token_url, clientId: client_id, clientSecret: client_secret };
    const more = scope === undefined ? {} : { scope };
    return askTokenEndpoint(net, endpoint, (config) => refreshTokenGrant(config, refresh_token, more));
  },
  service_account: async (tools, value) => {
    const assertion = await assertionOf(value, tools.clock.now());
    return askWithoutClient(tools.net, value.token_uri, (config) =>
      genericGrantRequest(config, JWT_BEARER, { assertion }),
    ).catch(rethrowAsRefused);
  },
};

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const ASSERTION_SECONDS = 3_600;

export type TokenDeps = Pick<Deps, 'db' | 'keys' | 'net' | 'clock' | 'log'>;

/**
 * One exchange, under the lease. `stored`: the token is in its row, and a rotated refresh token in the secret, both in
 * one transaction. `stale`: another value was stored meanwhile, so nothing was stored. `failed`: the row has the reason.
 */
export async function renewToken(
  deps: TokenDeps,
  lease: Lease,
  state: TokenState,
): Promise<'stored' | 'stale' | 'failed'> {
  const secret = await lockSecret(deps.db, deps.keys, lease.id);
  if (secret === null || secret.version !== lease.version) {
    await releaseLease(deps.db, lease, { failure: null, inDoubt: false });
    return 'stale';
  }
  const askedAt = deps.clock.now();
  try {
    const grant = await grantOf(deps, secret);
    failpoint('refresh-answered');
    return (await retryLostConnection(() => storeGranted(deps, lease, { secret, grant, askedAt })))
      ? 'stored'
      : 'stale';
  } catch (error) {
    await fail(deps, lease, { secret, state, fault: toFault(deps, error) });
    return 'failed';
  } finally {
    // Waiters poll as well.
    await notifyTokenWaiters(deps.db, lease.id).catch(() => undefined);
  }
}

/** A short database outage must not lose a refresh token that the provider has already rotated. */
const STORE_AGAIN_MS = [100, 300, 1_000, 2_000, 4_000, 8_000];

async function retryLostConnection(work: () => Promise<boolean>): Promise<boolean> {
  for (const pauseMs of STORE_AGAIN_MS) {
    try {
      return await work();
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
      await sleep(pauseMs);
    }
  }
  return work();
}

function grantOf(deps: TokenDeps, secret: OpenedSecret): Promise<Grant> {
  if (secret.shape === 'oauth2') return RENEWALS.oauth2(deps, secret.value);
  if (secret.shape === 'service_account') return RENEWALS.service_account(deps, secret.value);
  throw new GrantFault('refused', `a secret of the shape ${secret.shape} cannot be exchanged for a token`);
}

/** False when the secret's value changed meanwhile: then the token belongs to no stored value. */
async function storeGranted(
  deps: TokenDeps,
  lease: Lease,
  { secret, grant, askedAt }: { secret: OpenedSecret; grant: Grant; askedAt: number },
): Promise<boolean> {
  return deps.db.transaction(async (tx) => {
    const version = await versionAfter(tx, deps, { secret, grant });
    if (version === null) {
      await releaseLease(tx, lease, { failure: null, inDoubt: false });
      return false;
    }
    const times = timesOf(grant.expiresInSeconds, askedAt);
    await storeToken(tx, deps.keys, { ...lease, version, token: grant.accessToken, ...times });
    return true;
  });
}

/** The secret's version once a rotated refresh token is stored; null when it is not the one that was exchanged. */
async function versionAfter(
  tx: Parameters<typeof replaceSecret>[0],
  { keys }: TokenDeps,
  { secret, grant: { refreshToken } }: { secret: OpenedSecret; grant: Grant },
): Promise<number | null> {
  const { id, version } = secret;
  if (secret.shape === 'oauth2' && refreshToken !== null && refreshToken !== secret.value.refresh_token) {
    const value = { shape: 'oauth2', value: { ...secret.value, refresh_token: refreshToken } } as const;
    return replaceSecret(tx, keys, { id, version, value });
  }
  const now = await lockSecret(tx, keys, id);
  return now?.version === version ? version : null;
}

const MAYBE_SPENT =
  'an earlier exchange was interrupted before its answer was stored, so the refresh token may be used up';

/**
 * Records the failure and deletes nothing: after an outage the old token stays, and an invalid grant waits for a
 * person.
 */
async function fail(
  deps: TokenDeps,
  lease: Lease,
  { secret, state, fault }: { secret: OpenedSecret; state: TokenState; fault: GrantFault },
): Promise<void> {
  const isGone = fault.kind === 'gone';
  const hidden = hiddenTexts(secret).map((text) => [secret.name, text] as const);
  const clean = redactor(hidden).text(fault.message);
  const message = isGone && state.inDoubt ? `${clean}; ${MAYBE_SPENT}` : clean;
  const failure: Failure = { kind: fault.kind, message };
  deps.log.warn({ secret: secret.id, kind: fault.kind, reason: message }, 'failed to get a live token');
  await deps.db.transaction(async (tx) => {
    await releaseLease(tx, lease, { failure, inDoubt: fault.inDoubt });
    if (!isGone) return;
    await markReconnect(tx, secret);
    const actor = { kind: 'system', id: 'oauth', label: 'token exchange' } as const;
    const caller = { tenant: state.tenant, actor, address: null };
    await audit(tx, caller, 'secret.reconnect', secret.name, { reason: message });
  });
}

/** Records an unexpected error at once, so that waiters see it before the lease expires. */
function toFault({ log }: TokenDeps, error: unknown): GrantFault {
  if (error instanceof GrantFault) return error;
  log.error({ err: error }, 'token exchange failed');
  return new GrantFault('outage', 'the exchange failed inside the service: see its log', true);
}

/** Stores the token of a new connection, so that its first use needs no exchange. */
export async function storeGrant(
  tx: Sql,
  keys: InstallKeys,
  { id, grant, askedAt }: { readonly id: string; readonly grant: Grant; readonly askedAt: number },
): Promise<void> {
  const [row] = await tx.query<{ version: number }>('SELECT version FROM secret WHERE id = $1', [id]);
  if (row === undefined) return;
  const times = timesOf(grant.expiresInSeconds, askedAt);
  await storeToken(tx, keys, { id, version: row.version, attempt: null, token: grant.accessToken, ...times });
}

type Tools = Pick<Deps, 'net' | 'clock'>;

type TokenShape = 'oauth2' | 'service_account';

type Renew<S extends TokenShape> = (tools: Tools, value: ShapeValues[S]) => Promise<Grant>;

/** RFC 7523, 2.1, in the form that Google documents for its service accounts. */
function assertionOf(
  { client_email, private_key, token_uri, scopes, subject }: ShapeValues['service_account'],
  nowMs: number,
): Promise<string> {
  const now = Math.floor(nowMs / 1_000);
  return new SignJWT({ scope: scopes.join(' ') })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(client_email)
    .setSubject(subject ?? client_email)
    .setAudience(token_uri)
    .setIssuedAt(now)
    .setExpirationTime(now + ASSERTION_SECONDS)
    .sign(createPrivateKey(private_key));
}

/** A retry uses up no token, and a wrong clock gives the same error code, so the next attempt may succeed. */
function rethrowAsRefused(error: unknown): never {
  if (error instanceof GrantFault && error.kind === 'gone') throw new GrantFault('refused', error.message);
  throw error;
}
