import type { Worker } from '@temporalio/worker';

/**
 * Puts `prepare` before every shutdown of the worker, and returns the shutdown. The worker calls its own method after an
 * unexpected error (SDK 1.24), so the method of the instance is replaced.
 */
export function shutdownAfter(
  worker: Pick<Worker, 'shutdown' | 'getState'>,
  prepare: () => Promise<void>,
): () => Promise<void> {
  const shutdownNow = worker.shutdown.bind(worker);
  const shutdown = async () => {
    await prepare();
    if (worker.getState() === 'RUNNING') shutdownNow();
  };
  worker.shutdown = () => void shutdown();
  return shutdown;
}
