import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { errorMessage } from '../../shared/refusal.js';
import { StartError } from './start-error.js';
import { downloadTemporal } from './temporal-download.js';
import { goInstallTemporal } from './temporal-go-install.js';

export interface Acquire {
  readonly version: string;
  /** The folder of programs in the user's cache. */
  readonly binFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly progress: (text: string) => void;
}

/** The user's cache folder by the XDG base directory specification, and our programs in it. */
export function cacheBinFolder(environment: Acquire['environment']): string {
  return join(environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache'), 'signalbox', 'bin');
}

/**
 * The Temporal command line: in the cache, on PATH, by the SDK's download, by `go install`. (TEMPORAL_ADDRESS, the
 * first place to look, means that nothing is to be started at all.) What is downloaded or built stays in the cache.
 */
export async function findTemporal(acquire: Acquire): Promise<string> {
  const ready = [acquire.binFolder, ...(acquire.environment.PATH ?? '').split(delimiter)]
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'temporal'))
    .find(isExecutable);
  if (ready) return ready;
  const failures: string[] = [];
  for (const get of [downloadTemporal, goInstallTemporal]) {
    try {
      return await get(acquire);
    } catch (error) {
      failures.push(errorMessage(error));
    }
  }
  throw new StartError(
    [
      'Signalbox needs the Temporal command line, and none was found in any of five places:',
      '(1) TEMPORAL_ADDRESS is not set, so no running Temporal is used;',
      `(2) ${join(acquire.binFolder, 'temporal')} does not exist;`,
      '(3) there is no `temporal` on PATH;',
      `(4) the download failed: ${failures[0]};`,
      `(5) \`go install\` failed: ${failures[1]}.`,
      'Install the command line (https://docs.temporal.io/cli), or set TEMPORAL_ADDRESS, then start again.',
    ].join(' '),
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
