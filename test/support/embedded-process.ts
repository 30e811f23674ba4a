import { parseConfig, readEnvironment } from '../../src/platform/config/index.js';
import { StartError, startEmbedded } from '../../src/platform/embedded/index.js';
import type { Log } from '../../src/shared/log.js';

/** A service reduced to its servers, as a process of its own that tests may kill: bundled and run by `embedded-host`. */
const toStderr = (fields: object, message?: string) =>
  process.stderr.write(`${JSON.stringify({ ...fields, message })}\n`);
const log: Log = { debug: () => undefined, info: toStderr, warn: toStderr, error: toStderr, child: () => log };

try {
  const environment = readEnvironment();
  const embedded = await startEmbedded({
    config: parseConfig(environment, 'test'),
    log,
    progress: (text) => process.stderr.write(`${text}\n`),
    environment,
  });
  process.once('SIGTERM', () => void embedded.close().then(() => process.exit(0)));
  process.stdout.write(`${JSON.stringify({ databaseUrl: embedded.databaseUrl, temporal: embedded.temporal })}\n`);
} catch (error) {
  process.stderr.write(error instanceof StartError ? `StartError: ${error.message}\n` : String(error));
  process.exit(1);
}
