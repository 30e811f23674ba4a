import { errorMessage } from '../../shared/refusal.js';
import type { NetFaultKind } from './contract.js';
import { NetError } from './net-error.js';

/** Faults by error code of the system and of undici; the first matching row counts. */
const FAILURES: readonly (readonly [RegExp, NetFaultKind, (host: string) => string])[] = [
  [/^UND_ERR_CONNECT_TIMEOUT$|^ETIMEDOUT$/, 'unreachable', (host) => `${host} does not answer in time`],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'too-large', (host) => `${host} answers with headers of over 16 KiB`],
  [
    /CERT|^ERR_TLS_|^ERR_SSL_|^EPROTO$|^UNABLE_TO_|^HOSTNAME_MISMATCH$/,
    'tls',
    (host) => `no safe connection to ${host} can be made`,
  ],
];

/** True for the code of a name that was not resolved. */
export function isUnresolved(code: string): boolean {
  return /^(ENOTFOUND|EAI_\w+|ENODATA)$/.test(code);
}

/**
 * Converts any error of a hop to a fault with a sentence. `connected`: the other side may have received the request.
 */
export function toNetError(error: unknown, { host, connected }: { host: string; connected: boolean }): NetError {
  if (error instanceof NetError) return error;
  const code = codeOf(error);
  const row = FAILURES.find(([pattern]) => pattern.test(code));
  const detail = code === '' ? errorMessage(error) : code;
  if (row) return new NetError(row[1], `${row[2](host)} (${detail})`, connected);
  return connected
    ? new NetError('broken', `${host} closed the connection or sent an invalid HTTP response (${detail})`, true)
    : new NetError('unreachable', `${host} does not answer (${detail})`);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  // An AggregateError has one error for each address of a name.
  return error instanceof AggregateError ? codeOf(error.errors[0]) : '';
}
