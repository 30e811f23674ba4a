import type { EventEmitter } from 'node:events';

/**
 * Gives an emitter an `error` listener before anything else is done with it: an `error` event without a listener ends
 * the process. Consumers still get the error by their own listeners, by `for await` and by `pipeline`.
 */
export function withErrorListener<T extends EventEmitter>(emitter: T): T {
  emitter.on('error', () => undefined);
  return emitter;
}
