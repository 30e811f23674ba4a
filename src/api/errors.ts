import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { Refusal, type RefusalKind } from '../shared/refusal.js';
import { StorageUnavailable, toStorageError } from '../shared/storage-unavailable.js';
import { CLIENT_LEFT, hasClientLeft, isStopped } from './client-left.js';
import type { AppEnv } from './env.js';
import { refusalPage } from './pages/refusal-page.js';

export const STATUS = {
  malformed: 400,
  unauthenticated: 401,
  out_of_credit: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timed_out: 408,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  unsupported_type: 415,
  refused: 422,
  rate_limited: 429,
  unavailable: 503,
} as const satisfies Record<RefusalKind, ContentfulStatusCode>;

/** Details that also have an HTTP header. */
const HEADERS = {
  retryAfter: (value: unknown) => ['Retry-After', String(value)],
  acceptEncoding: (value: unknown) => ['Accept-Encoding', (value as readonly string[]).join(', ')],
  allow: (value: unknown) => ['Allow', (value as readonly string[]).join(', ')],
} as const satisfies Record<string, (value: unknown) => [string, string]>;

/** The only place that turns an error into a response. The text of an unknown error is logged, never sent. */
export function onError(error: Error, c: Context<AppEnv>): Response | Promise<Response> {
  const refusal = asRefusal(error);
  if (refusal) {
    if (refusal !== error || refusal instanceof StorageUnavailable) c.var.log.warn({ err: error }, refusal.message);
    if (refusal.kind === 'unauthenticated') c.header('WWW-Authenticate', 'Bearer');
    for (const [name, header] of Object.entries(HEADERS)) {
      if (refusal.details[name] !== undefined) c.header(...header(refusal.details[name]));
    }
    if (c.var.page) return refusalPage(c, refusal.message, STATUS[refusal.kind]);
    return c.json({ error: refusal.message, code: codeOf(refusal), ...refusal.details }, STATUS[refusal.kind]);
  }
  if (isStopped(error) && hasClientLeft(c)) {
    c.var.log.debug({ err: error }, 'stopped, since the client has left');
    return c.newResponse(null, CLIENT_LEFT);
  }
  c.var.log.error({ err: error }, 'unhandled');
  return c.json({ error: 'internal error', code: 'internal', requestId: c.var.requestId }, 500);
}

/** The error's code for programs: the refusal's own, else its kind. */
function codeOf({ kind, details }: Refusal): string {
  return typeof details.code === 'string' ? details.code : kind.replaceAll('_', '-');
}

function asRefusal(thrown: Error): Refusal | null {
  const error = toStorageError(thrown) as Error;
  if (error instanceof Refusal) return error;
  if (error instanceof HTTPException) return fromFramework(error);
  return null;
}

/** Errors that hono and its validators throw. */
function fromFramework(error: HTTPException): Refusal | null {
  const kind = (Object.keys(STATUS) as RefusalKind[]).find((name) => STATUS[name] === error.status);
  const known =
    kind === 'unsupported_type'
      ? 'this route does not accept a body of that type; see /docs/openapi.json'
      : error.message;
  return kind ? new Refusal(kind, known) : null;
}
