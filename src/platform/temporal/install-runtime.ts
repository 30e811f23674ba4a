import type { Logger, LogMetadata } from '@temporalio/worker';
import type { Log, LogFields } from '../../shared/log.js';

/**
 * Installs Temporal's process-wide runtime, once, before any worker or worker's connection. It writes to our log, and
 * leaves signals alone, because main.ts orders the shutdown. `@temporalio/worker` is half of the modules of a start, so
 * only a process that has a worker loads it.
 */
export async function installRuntime(log: Log): Promise<void> {
  const { Runtime } = await import('@temporalio/worker');
  Runtime.install({
    logger: toLogger(log.child({ part: 'temporal' })),
    shutdownSignals: [],
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
  });
}

function toLogger(log: Log): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, meta?: LogMetadata) =>
    log[level](readable(meta), message);
  // The SDK's own INFO messages are about its life cycle, which the service logs itself.
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

/** Temporal names an error `error`; our log expects `err`. */
function readable({ error, ...rest }: LogMetadata = {}): LogFields {
  return error === undefined ? rest : { ...rest, err: error };
}
