import { z } from 'zod';
import type { InstallKeys } from '../../platform/config/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { CannotOpen, open, seal, tokenPlace } from '../envelope.js';
import type { SecretStatus } from '../model.js';

/** Longer than a request to a token endpoint may take: after that its process has died or hangs. */
const LEASE = "interval '30 seconds'";

interface CachedToken {
  readonly token: string;
  readonly expiresAt: Date;
  readonly renewAt: Date;
}

const Failure = z.object({ kind: z.enum(['gone', 'refused', 'outage']), message: z.string() });

/** Why an exchange failed, for the callers that waited for it. */
export type Failure = z.infer<typeof Failure>;

/** The current state of a secret and its live token. */
export interface TokenState {
  readonly tenant: string;
  readonly version: number;
  readonly status: SecretStatus;
  /** The number of exchanges that were started; 0 before the first. */
  readonly attempt: number;
  /** True while a process runs an exchange. */
  readonly leased: boolean;
  /** True when an exchange with this value was interrupted, so that the provider may have used it up. */
  readonly inDoubt: boolean;
  /** The token of the secret's present value. */
  readonly cached: CachedToken | null;
  readonly failure: Failure | null;
}

interface Row extends Omit<TokenState, 'cached' | 'failure'> {
  readonly failure: unknown;
  readonly keyId: string | null;
  readonly wrappedKey: Buffer;
  readonly sealed: Buffer;
  readonly expiresAt: Date;
  readonly renewAt: Date;
}

/** Null when the secret is gone. */
export async function readTokenState(sql: Sql, keys: InstallKeys, id: string): Promise<TokenState | null> {
  const [row] = await sql.query<Row>({
    name: 'token-read',
    text: `SELECT s.tenant_id AS tenant, s.version, s.status, coalesce(t.attempt, 0) AS attempt,
        coalesce(t.lease_until > now(), false) AS leased, t.failure,
        coalesce(t.doubt_version = s.version
          OR t.lease_until <= now() AND t.lease_version = s.version, false) AS "inDoubt",
        CASE WHEN t.version = s.version THEN t.key_id END AS "keyId",
        t.wrapped_key AS "wrappedKey", t.sealed, t.expires_at AS "expiresAt", t.renew_at AS "renewAt"
      FROM secret s LEFT JOIN secret_token t ON t.secret_id = s.id
      WHERE s.id = $1`,
    values: [id],
  });
  if (row === undefined) return null;
  const { tenant, version, status, attempt, leased, inDoubt, failure } = row;
  const opened = { failure: Failure.nullable().parse(failure), cached: openToken(keys, id, row) };
  return { tenant, version, status, attempt, leased, inDoubt, ...opened };
}

/** A token that cannot be decrypted, because its install key was removed, counts as missing. */
function openToken(keys: InstallKeys, id: string, row: Row): CachedToken | null {
  const { keyId, wrappedKey, sealed, expiresAt, renewAt } = row;
  if (keyId === null) return null;
  try {
    return {
      token: open(keys, tokenPlace({ id, version: row.version }), { keyId, wrappedKey, sealed }),
      expiresAt,
      renewAt,
    };
  } catch (error) {
    if (error instanceof CannotOpen) return null;
    throw error;
  }
}

/** The right to exchange this version of a secret, for one process at a time. */
export interface Lease {
  readonly id: string;
  readonly version: number;
  readonly attempt: number;
}

/** Acquires the lease; null when another process began an exchange since the state was read. */
export async function acquireLease(
  sql: Sql,
  id: string,
  { attempt, version }: Pick<TokenState, 'attempt' | 'version'>,
): Promise<Lease | null> {
  const [row] = await sql.query<{ attempt: number }>({
    name: 'token-lease',
    text: `INSERT INTO secret_token (secret_id, attempt, lease_version, lease_until)
      VALUES ($1, $2::int + 1, $3, now() + ${LEASE})
      ON CONFLICT (secret_id) DO UPDATE SET attempt = $2::int + 1, lease_version = $3, lease_until = now() + ${LEASE},
        doubt_version = CASE WHEN secret_token.lease_until IS NULL THEN secret_token.doubt_version
          ELSE secret_token.lease_version END
      WHERE secret_token.attempt = $2 AND (secret_token.lease_until IS NULL OR secret_token.lease_until <= now())
      RETURNING attempt`,
    values: [id, attempt, version],
  });
  return row === undefined ? null : { id, version, attempt: row.attempt };
}

/** Releases the lease without a token. */
export async function releaseLease(
  sql: Sql,
  { id, version, attempt }: Lease,
  { failure, inDoubt }: { readonly failure: Failure | null; readonly inDoubt: boolean },
): Promise<void> {
  await sql.query({
    name: 'token-release',
    text: `UPDATE secret_token SET lease_until = NULL, failure = $3,
        doubt_version = CASE WHEN $4 THEN $5 ELSE doubt_version END
      WHERE secret_id = $1 AND attempt = $2`,
    values: [id, attempt, failure && JSON.stringify(failure), inDoubt, version],
  });
}

/**
 * Stores the token of this version of a secret and, with `attempt`, ends that exchange. A late token is stored too: it is
 * the provider's newest, and the version shows whether it still counts.
 */
export async function storeToken(
  sql: Sql,
  keys: InstallKeys,
  {
    id,
    version,
    attempt,
    token,
    expiresAt,
    renewAt,
  }: Omit<Lease, 'attempt'> & { attempt: number | null } & CachedToken,
): Promise<void> {
  const { keyId, wrappedKey, sealed } = seal(keys, tokenPlace({ id, version }), token);
  await sql.query({
    name: 'token-store',
    text: `INSERT INTO secret_token (secret_id, attempt, version, key_id, wrapped_key, sealed, expires_at, renew_at)
      VALUES ($1, 0, $3, $4, $5, $6, $7, $8)
      ON CONFLICT (secret_id) DO UPDATE SET version = $3, key_id = $4, wrapped_key = $5, sealed = $6, expires_at = $7,
        renew_at = $8, failure = NULL, doubt_version = NULL,
        lease_until = CASE WHEN secret_token.attempt = $2 THEN NULL ELSE secret_token.lease_until END`,
    values: [id, attempt, version, keyId, wrappedKey, sealed, expiresAt, renewAt],
  });
}

/** For a provider that does not send the token's lifetime. */
const DEFAULT_LIFE_SECONDS = 600;

const MAX_MARGIN_MS = 300_000;

/** A token with less time left may expire in transit. */
const LAST_MS = 5_000;

/** Counts from before the request, so that the token never expires earlier than computed. */
export function timesOf(
  expiresInSeconds: number | null,
  askedAtMs: number,
): Pick<CachedToken, 'expiresAt' | 'renewAt'> {
  const lifeMs = (expiresInSeconds ?? DEFAULT_LIFE_SECONDS) * 1_000;
  // The margin is a fifth for tokens of minutes, and five minutes for those of hours, since a program may be using the
  // token.
  const renewMs = lifeMs - Math.min(MAX_MARGIN_MS, lifeMs / 5);
  return { expiresAt: new Date(askedAtMs + lifeMs), renewAt: new Date(askedAtMs + renewMs) };
}

export function isFresh({ renewAt }: CachedToken, nowMs: number): boolean {
  return renewAt.getTime() > nowMs;
}

/** Whether the old token is still usable when there is no newer one. */
export function isUsable({ expiresAt }: CachedToken, nowMs: number): boolean {
  return expiresAt.getTime() > nowMs + LAST_MS;
}
