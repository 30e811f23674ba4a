import { renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { atFileEnd } from './file-end.js';

let lost = 0;

/**
 * Takes a repository's folder of a running service away for good. A rename does it at once, whatever a process of the service
 * still writes there: a recursive delete fails with ENOTEMPTY when a file appears beside it.
 */
export function loseFolder(path: string): void {
  lost += 1;
  const away = join(dirname(dirname(path)), `lost-${process.pid}-${lost}`);
  renameSync(path, away);
  atFileEnd(async () => rmSync(away, { recursive: true, force: true, maxRetries: 5 }));
}
