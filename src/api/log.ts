import { type DestinationStream, type LoggerOptions, pino } from 'pino';
import type { Config } from '../config/index.js';
import type { Log } from '../shared/log.js';

/** Lines of JSON, on standard output by default; what must never be in a log is cut here as well, whoever logs it. */
export function createLog(level: Config['logLevel'], destination: DestinationStream = pino.destination(1)): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: pino.stdSerializers.err },
    redact: {
      paths: ['authorization', 'cookie', '*.authorization', '*.cookie', '*.password', 'password'],
      censor: '[redacted]',
    },
  };
  return pino(options, destination);
}
