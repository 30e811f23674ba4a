import { pino } from 'pino';
import type { Log } from '../shared/log.js';

/** Lines of JSON on standard output; what must never be in a log is cut here as well, whoever logs it. */
export function createLog(level: string): Log {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: pino.stdSerializers.err },
    redact: {
      paths: ['authorization', 'cookie', '*.authorization', '*.cookie', '*.password', 'password'],
      censor: '[redacted]',
    },
  });
}
