import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether the shell would find this program. @param {string} program @param {string} [path] as PATH is written */
export function onPath(program, path = process.env.PATH ?? '') {
  return path.split(delimiter).some((folder) => folder !== '' && isExecutable(join(folder, program)));
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
