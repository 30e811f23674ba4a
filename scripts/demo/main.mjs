// The demo: a service of its own in a temporary folder, a workspace, a run from its start to its end, shown live.
import { constants } from 'node:os';
import { Demo } from './demo.mjs';
import { PartError } from './part.mjs';
import { createScreen } from './screen.mjs';
import { showFailure } from './show-failure.mjs';

const screen = createScreen(process.stdout, process.env);
const demo = new Demo(screen);
let interrupted = false;

/** Ends all that was started, then this process. @param {number} code */
async function leave(code) {
  // The second time the person means it.
  if (interrupted) return demo.kill();
  interrupted = true;
  screen.line('\nStopping the service of the demo …');
  await demo.end();
  process.exit(code);
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => void leave(128 + constants.signals[signal]));
}
// The reader of the output has closed it, as in `npm run demo | head`.
process.stdout.on('error', () => void (interrupted || leave(1)));

try {
  await demo.run();
} catch (error) {
  // An interrupt makes every part fail; it ends the process itself.
  if (!interrupted) {
    await demo.abandon();
    showFailure(screen, error instanceof PartError ? error : new PartError('Demo', String(error)), demo.logFile);
    process.exitCode = 1;
  }
}
