import type { NetFault, NetFaultKind } from '../../platform/net/index.js';
import { GrantFault } from './grant.js';
import type { TokenAnswer } from './read-answer.js';

/** Error codes by which providers say that a refresh token is invalid. */
const GONE = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'BAD_REFRESH_TOKEN',
  'invalid_refresh_token',
  'token_revoked',
  'token_expired',
]);
/** Faults that a retry cannot fix: a person must correct a URL or allow a host. */
const LASTING: ReadonlySet<NetFaultKind> = new Set(['bad-url', 'bad-request', 'denied', 'tls']);
const MAX_MESSAGE = 300;

export function hostText(url: string): string {
  return new URL(url).host;
}

export function faultOfNet({ fault, message, sent }: NetFault): GrantFault {
  return new GrantFault(LASTING.has(fault) ? 'refused' : 'outage', message, sent);
}

export function faultOfAnswer(host: string, { status, body }: TokenAnswer): GrantFault {
  const error = typeof body.error === 'string' ? body.error : null;
  const reason = [error, body.error_description ?? body.message]
    .filter((part) => typeof part === 'string')
    .map((part) => plainText(part))
    .join(': ');
  if (error !== null && GONE.has(error))
    return new GrantFault('gone', `${host} no longer accepts the connection (${reason})`);
  if (status === 429 || status >= 500)
    return new GrantFault('outage', `${host} answers ${status}${reason && ` (${reason})`}`, status >= 500);
  if (error !== null) return new GrantFault('refused', `${host} refuses to give a token (${reason})`);
  return new GrantFault('refused', `${host} answers ${status} and no token: check the token endpoint's address`);
}

/** A foreign text as one short line. */
export function plainText(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE);
}
