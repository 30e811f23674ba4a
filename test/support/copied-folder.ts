import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Copies of a data folder that was used once and ended well. To make the first one, Postgres and Temporal create and
 * migrate their data, which takes seconds; a copy takes none. `cp` keeps owners: Postgres refuses another one.
 */
export function copiesOf(make: () => Promise<string>) {
  let made: Promise<string> | undefined;
  return async (target: string): Promise<string> => {
    made ??= make();
    await promisify(execFile)('cp', ['-a', `${await made}/.`, target]);
    return target;
  };
}
