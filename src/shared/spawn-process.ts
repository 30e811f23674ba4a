import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { withErrorListener } from './error-listener.js';
import { Refusal } from './refusal.js';

/**
 * `spawn` of Node with every `error` listener in place: on the child, whose start may fail after this call, and on its
 * streams. Throws a `Refusal` when no descriptor is left for the streams (EMFILE, ENFILE): Node then makes none.
 */
export function spawnProcess(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = withErrorListener(spawn(command, args, options));
  // Node's types do not know of a child without streams.
  const stdio: ChildProcess['stdio'] | undefined = child.stdio;
  if (stdio === undefined) throw noDescriptors();
  for (const stream of stdio) if (stream) withErrorListener(stream);
  return child;
}

function noDescriptors(): Refusal {
  return new Refusal(
    'unavailable',
    'the service has no file descriptor left to start a program; try again in a moment, or raise its limit of open files (ulimit -n)',
    { retryAfter: 5 },
  );
}
