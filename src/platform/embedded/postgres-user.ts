import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from './start-error.js';

interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** How to run a Postgres program: directly or, when the service is root, as another user. */
export interface RunAs {
  /** The user who must own the cluster's folder; absent when it is the current user. */
  readonly owner?: Identity;
  /** The user that `spawn` switches to; absent when the command switches itself. */
  readonly spawnAs?: Identity;
  readonly command: (program: string, args: readonly string[]) => { command: string; args: readonly string[] };
}

const plainly: RunAs['command'] = (command, args) => ({ command, args });
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'];
const ID = ['/usr/bin/id', '/bin/id'];
const USERADD = ['/usr/sbin/useradd', '/sbin/useradd'];

/** Postgres refuses to run as root. Then the user `postgres` runs it, created if missing. */
export function postgresUser(paths: readonly string[]): RunAs {
  if (process.getuid?.() !== 0) return { command: plainly };
  const owner = lookUp('postgres') ?? createUser();
  if (paths.every(canTraverse)) return { owner, spawnAs: owner, command: plainly };
  const setpriv = SETPRIV.find(existsSync);
  if (!setpriv) {
    throw new StartError(
      `The user "postgres" cannot reach ${paths.find((path) => !canTraverse(path))}: install Signalbox and its data folder outside of a private home folder, or run it as another user than root.`,
    );
  }
  // Root's home often has mode 0700: keep only dac_override, with which Postgres can pass through it.
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
      // A read-only or unusual system: use `nobody`.
    }
  }
  const found = lookUp('postgres') ?? lookUp('nobody');
  if (found) return found;
  throw new StartError(
    'Postgres does not run as root and no user "postgres" could be made: run Signalbox as another user, or set DATABASE_URL.',
  );
}

/** True if every user may pass through all parent folders. */
function canTraverse(path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
