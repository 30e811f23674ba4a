// Puts the Temporal command line into the user's cache, by the service's own look-up: download, else build with Go.
import { loadSources } from './lib/load-sources.mjs';
import { say } from './lib/progress.mjs';

/** @typedef {typeof import('../src/platform/embedded/temporal-binary.js') & typeof import('../src/platform/embedded/temporal-settings.js')} Embedded */

const embedded = /** @type {Embedded} */ (
  await loadSources(['platform/embedded/temporal-binary', 'platform/embedded/temporal-settings'])
);
try {
  const { version } = await embedded.readTemporalSettings();
  const binFolder = embedded.cacheBinFolder(process.env);
  const progress = (/** @type {string} */ text) => say(`    ${text}`);
  await embedded.findTemporal({ version, binFolder, environment: process.env, progress });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
process.exit();
