import { delimiter } from 'node:path';
import { binDir, inRoot } from '../lib/paths.mjs';
import { SetupError, withProgress } from '../lib/progress.mjs';
import { runChild } from '../lib/run-child.mjs';
import { onPath } from './on-path.mjs';

/** Gets the Temporal command line, the engine of the one-machine default, unless a Temporal is named or it is there. */
export async function getTemporalCli() {
  const places = [binDir(), process.env.PATH].join(delimiter);
  if (process.env.TEMPORAL_ADDRESS || onPath('temporal', places)) return;
  await withProgress('getting Temporal, once for this machine', async () => {
    const { code } = await runChild(process.execPath, [inRoot('scripts/get-temporal.mjs')], { show: true });
    if (code !== 0) throw new SetupError('Temporal could not be installed: see above for each place that was tried.');
  });
}
