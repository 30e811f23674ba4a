import { pino } from 'pino';

/**
 * An error as a log field: type, message, stack and code, with those of its causes. Other fields are left out, since
 * errors of HTTP clients and model SDKs contain whole requests.
 */
export function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = pino.stdSerializers.err(error);
  const code = 'code' in error && ['string', 'number'].includes(typeof error.code) ? { code: error.code } : {};
  const errors = error instanceof AggregateError ? { errors: error.errors.map(errorFields) } : {};
  return { type, message, stack, ...code, ...errors };
}
