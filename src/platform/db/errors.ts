import type { PrismaClientKnownRequestError } from '@prisma/client/runtime/client';
import { Refusal } from '../../shared/refusal.js';

/** Postgres is unreachable, or the connection was lost before the answer: the caller may retry. */
export class DatabaseUnavailable extends Refusal {
  constructor(cause: unknown, message = 'the database does not answer; try again in a moment', details: object = {}) {
    super('unavailable', message, { retryAfter: 2, ...details });
    this.cause = cause;
  }
}

/** The database answers, but all of its connections are in use: it is overloaded. */
export class DatabaseBusy extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(cause, BUSY, { code: 'overloaded' });
  }
}

const BUSY = 'the service is overloaded; try again in a few seconds';

/** The connection was lost during the commit. Whether the transaction committed is unknown, so do not retry it. */
export class OutcomeUnknown extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(
      cause,
      'the database connection was lost during a write; check whether the call took effect before you repeat it',
      {
        code: 'outcome-unknown',
      },
    );
  }
}

// Class 08 is "connection exception"; 57P01–57P03 are shutdown, crash and "starting up"; 53300 is "too many
// connections". https://www.postgresql.org/docs/18/errcodes-appendix.html
const SQLSTATES = new Set(['57P01', '57P02', '57P03', '53300']);
const SOCKET = new Set(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND', 'EHOSTUNREACH', 'EAI_AGAIN']);
// Prisma's: cannot reach, timed out, server closed the connection, too many connections.
const PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2037']);
// `pg` throws these errors without a code.
const TEXTS =
  /Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error/;

/** True when a lost connection interrupted the statement: whether it took effect is unknown. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code && (SQLSTATES.has(code) || SOCKET.has(code) || PRISMA.has(code) || /^08[0-9A-Z]{3}$/.test(code)))
    return true;
  if (error instanceof AggregateError && error.errors.some(isConnectionLost)) return true;
  return TEXTS.test(error.message);
}

/** A server that starts, recovers or shuts down (57P03), has no connection left (53300), or did not answer in time. */
export function isNotReady(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return code === '57P03' || code === '53300' || code === 'ETIMEDOUT' || /^timeout expired$/.test(error.message);
}

/** A deadlock or a serialization failure: the transaction was rolled back and may be retried. */
export function isContention(error: unknown): boolean {
  const code = error instanceof Error ? codeOf(error) : undefined;
  return code === '40P01' || code === '40001';
}

/** The lock that a statement needs was not free within `lock_timeout`: its transaction did nothing. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === '55P03';
}

/** A unique constraint was in the way (23505). */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === '23505';
}

/** What callers see: connection losses as one refusal, texts that cannot be stored as another, everything else as it came. */
export function toDatabaseError(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  if (isBusy(error)) return new DatabaseBusy(error);
  if (isConnectionLost(error)) return new DatabaseUnavailable(error);
  return isUnstorableText(error) ? new UnstorableText(error) : error;
}

/** A text of the caller holds NUL (22021; 22P05 in JSON), or half a surrogate pair in JSON (22P02). */
class UnstorableText extends Refusal {
  constructor(cause: unknown) {
    super('refused', 'a text holds a character that cannot be stored: NUL or half a surrogate pair');
    this.cause = cause;
  }
}

function isUnstorableText(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const state = codeOf(error);
  if (state !== '22P02') return state === '22021' || state === '22P05';
  // Only the driver's own error says which character is wrong. Prisma writes the JSON that it sends itself.
  const wrapped = wrappedBy(error);
  return wrapped === undefined
    ? 'detail' in error && /surrogate/i.test(String(error.detail))
    : /type json/.test(String(wrapped.originalMessage));
}

/** Postgres accepts no more connections (53300), or our own pool has no free one, which Prisma wraps. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && (codeOf(error) === '53300' || error.message.includes(BUSY));
}

/** The SQLSTATE, also of an error that Prisma wraps; else the code of the socket or of Prisma. */
function codeOf(error: Error): string | undefined {
  const wrapped = wrappedBy(error)?.originalCode;
  if (typeof wrapped === 'string') return wrapped;
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** What Prisma keeps of the driver's error. */
function wrappedBy(error: Error): DriverCause | undefined {
  const meta = (error as Partial<PrismaClientKnownRequestError>).meta as PrismaMeta | undefined;
  return meta?.driverAdapterError?.cause;
}

interface PrismaMeta {
  readonly driverAdapterError?: { readonly cause?: DriverCause };
}

interface DriverCause {
  readonly originalCode?: unknown;
  readonly originalMessage?: unknown;
}
