import { join } from 'node:path';
import { readEnvironment } from '../../src/config/index.js';
import { dataFolder, prepareDataFolder } from '../../src/embedded/data-folder.js';
import { freePort } from '../../src/embedded/free-port.js';
import { cacheBinFolder, findTemporal } from '../../src/embedded/temporal-binary.js';
import { startTemporal } from '../../src/embedded/temporal-server.js';
import { readTemporalSettings } from '../../src/embedded/temporal-settings.js';

/** A real Temporal server as the product starts it, in a folder of its own. */
export async function startTestTemporal(folder: string, port?: number) {
  const data = dataFolder(join(folder, 'temporal'));
  await prepareDataFolder(data);
  const settings = await readTemporalSettings();
  const environment = readEnvironment();
  const binary = await findTemporal({
    version: settings.version,
    binFolder: cacheBinFolder(environment),
    environment,
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  return startTemporal({ binary, settings, folder: data, port: port ?? (await freePort()) });
}
