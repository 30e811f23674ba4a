import { join } from 'node:path';
import { readEnvironment } from '../../src/platform/config/index.js';
import { dataFolder, prepareDataFolder } from '../../src/platform/embedded/data-folder.js';
import { freePort } from '../../src/platform/embedded/free-port.js';
import { cacheBinFolder, findTemporal } from '../../src/platform/embedded/temporal-binary.js';
import { startTemporal } from '../../src/platform/embedded/temporal-server.js';
import { readTemporalSettings, type TemporalSettings } from '../../src/platform/embedded/temporal-settings.js';

/** A real Temporal server as the product starts it, in a folder of its own; `limits` is more of its dynamic config. */
export async function startTestTemporal(folder: string, port?: number, limits: TemporalSettings['dynamicConfig'] = {}) {
  const data = dataFolder(join(folder, 'temporal'));
  await prepareDataFolder(data);
  const shipped = await readTemporalSettings();
  const settings = { ...shipped, dynamicConfig: { ...shipped.dynamicConfig, ...limits } };
  const environment = readEnvironment();
  const binary = await findTemporal({
    version: settings.version,
    binFolder: cacheBinFolder(environment),
    environment,
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  return startTemporal({ binary, settings, folder: data, port: port ?? (await freePort()) });
}
