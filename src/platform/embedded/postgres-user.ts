import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from './start-error.js';

interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** How to run a program of Postgres: plainly, or, where we are root, as a user who is not. */
export interface RunAs {
  /** Who must own the cluster's folder; absent when that is us. */
  readonly owner?: Identity;
  /** What `spawn` switches to; absent when the command does so itself. */
  readonly spawnAs?: Identity;
  readonly command: (program: string, args: readonly string[]) => { command: string; args: readonly string[] };
}

const plainly: RunAs['command'] = (command, args) => ({ command, args });
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'];
const ID = ['/usr/bin/id', '/bin/id'];
const USERADD = ['/usr/sbin/useradd', '/sbin/useradd'];

/** Postgres refuses to run as root: there, a user `postgres` runs it, made when it is missing. */
export function postgresUser(paths: readonly string[]): RunAs {
  if (process.getuid?.() !== 0) return { command: plainly };
  const owner = lookUp('postgres') ?? createUser();
  if (paths.every(canPass)) return { owner, spawnAs: owner, command: plainly };
  const setpriv = SETPRIV.find(existsSync);
  if (!setpriv) {
    throw new StartError(
      `The user "postgres" cannot reach ${paths.find((path) => !canPass(path))}: install Signalbox and its data folder outside of a private home folder, or run it as another user than root.`,
    );
  }
  // A root's home is often 0700: Postgres keeps the right to pass through it, and no other right of root's.
  const caps = [
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
    '--bounding-set=-all,+dac_override',
  ];
  const prefix = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', ...caps];
  return { owner, command: (program, args) => ({ command: setpriv, args: [...prefix, '--', program, ...args] }) };
}

function lookUp(name: string): Identity | undefined {
  try {
    const id = (flag: string) =>
      Number(
        execFileSync(ID.find(existsSync) ?? 'id', [flag, name], {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        }),
      );
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}

function createUser(): Identity {
  const useradd = USERADD.find(existsSync);
  if (useradd) {
    try {
      execFileSync(useradd, [
        '--system',
        '--user-group',
        '--no-create-home',
        '--shell',
        '/usr/sbin/nologin',
        'postgres',
      ]);
    } catch {
      // A read-only or exotic system: `nobody` will do.
    }
  }
  const found = lookUp('postgres') ?? lookUp('nobody');
  if (found) return found;
  throw new StartError(
    'Postgres does not run as root and no user "postgres" could be made: run Signalbox as another user, or set DATABASE_URL.',
  );
}

/** True when everyone may pass through every folder on the way. */
function canPass(path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
