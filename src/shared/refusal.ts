/** Every way in which a verb may refuse. The API maps each to one status, and nothing else does. */
export type RefusalKind =
  | 'malformed'
  | 'unauthenticated'
  | 'out_of_credit'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'timed_out'
  | 'conflict'
  | 'precondition_failed'
  | 'too_large'
  | 'unsupported_type'
  | 'refused'
  | 'rate_limited'
  | 'unavailable';

/** A refusal that the caller is meant to read. `details` joins the error body: `code`, `need`, `issues`, `runs`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly kind: RefusalKind,
    message: string,
    readonly details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

/** The refusal of work for which there is no room now, while every part of the service answers. */
export function overloaded(message: string, retryAfterSeconds: number): Refusal {
  return new Refusal('unavailable', message, { code: 'overloaded', retryAfter: retryAfterSeconds });
}

/** A resource of another account gets exactly this answer too, so that its existence does not show. */
export function notFound(what: string): Refusal {
  return new Refusal('not_found', `no such ${what}`);
}

/** The message of anything thrown, for logs and for errors that people read. */
export function errorMessage(error: unknown): string {
  // For a name with several addresses, Node's error has the failure of each and no message of its own.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorMessage).join('; ');
  return error instanceof Error ? error.message : String(error);
}
