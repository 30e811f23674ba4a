import { type Logger, type LogMetadata, Runtime } from '@temporalio/worker';
import type { Log, LogFields } from '../shared/log.js';

/**
 * Temporal's process-wide runtime, once, before any worker or worker's connection: it logs where we log, and leaves
 * signals alone, because the order in which the parts end is main's.
 */
export function installRuntime(log: Log): void {
  Runtime.install({
    logger: toLogger(log.child({ part: 'temporal' })),
    shutdownSignals: [],
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
  });
}

function toLogger(log: Log): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, meta?: LogMetadata) =>
    log[level](readable(meta), message);
  // What it calls information is its own life, which ours tells better.
  const levels = { TRACE: at('debug'), DEBUG: at('debug'), INFO: at('debug'), WARN: at('warn'), ERROR: at('error') };
  return {
    log: (level, message, meta) => levels[level](message, meta),
    trace: levels.TRACE,
    debug: levels.DEBUG,
    info: levels.INFO,
    warn: levels.WARN,
    error: levels.ERROR,
  };
}

/** Temporal names an error `error`. */
function readable({ error, ...rest }: LogMetadata = {}): LogFields {
  return error === undefined ? rest : { ...rest, err: error };
}
