import type { Log } from '../../src/shared/log.js';

/** Keeps every line with the fields of its context. */
export function recordingLog(lines: object[], context: object = {}): Log {
  const write = (fields: object, message?: string) => {
    lines.push({ ...context, ...fields, ...(message !== undefined && { message }) });
  };
  return {
    debug: write,
    info: write,
    warn: write,
    error: write,
    child: (fields) => recordingLog(lines, { ...context, ...fields }),
  };
}
