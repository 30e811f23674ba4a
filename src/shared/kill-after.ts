import { Worker } from 'node:worker_threads';
import { withErrorListener } from './error-listener.js';

const GUARD = `
const { workerData } = require('node:worker_threads');
setTimeout(() => {
  // Standard error may be closed or full, so the kill does not wait for it.
  require('node:fs').write(2, workerData.text, () => undefined);
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500);
}, workerData.ms);`;

/**
 * Kills this process with SIGKILL after `ms`, unless it has exited by then. A thread of its own does it: a native call
 * that never returns blocks the event loop, and with it every timer and signal handler. Never throws.
 */
export function killAfter(ms: number): void {
  const text = 'The process did not end in time and kills itself: its main thread is blocked.\n';
  try {
    withErrorListener(new Worker(GUARD, { eval: true, workerData: { ms, text } })).unref();
  } catch {
    // When the system refuses a further thread, only the main thread's timers remain.
  }
}
