import { type DestinationStream, type LoggerOptions, pino } from 'pino';
import type { Config } from '../platform/config/index.js';
import type { Log } from '../shared/log.js';

/** JSON lines, on standard output by default; redacts what must never be logged. */
export function createLog(level: Config['logLevel'], destination: DestinationStream = pino.destination(1)): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: nameErrors },
    serializers: { err: errorFields },
    redact: {
      paths: ['authorization', 'cookie', '*.authorization', '*.cookie', '*.password', 'password'],
      censor: '[redacted]',
    },
  };
  return pino(options, destination);
}

/** Formats an error under another key, such as in a library's fields, like one under `err`. */
function nameErrors(fields: Record<string, unknown>): Record<string, unknown> {
  const misnamed = Object.entries(fields).filter(([key, value]) => key !== 'err' && value instanceof Error);
  if (misnamed.length === 0) return fields;
  return { ...fields, ...Object.fromEntries(misnamed.map(([key, value]) => [key, errorFields(value)])) };
}

/**
 * An error as a log field: type, message, stack and code, with those of its causes. Other fields are left out, since
 * errors of HTTP clients and model SDKs contain whole requests.
 */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = pino.stdSerializers.err(error);
  const code = 'code' in error && ['string', 'number'].includes(typeof error.code) ? { code: error.code } : {};
  const errors = error instanceof AggregateError ? { errors: error.errors.map(errorFields) } : {};
  return { type, message, stack, ...code, ...errors };
}
