import { bubblewrapOptions } from './bubblewrap-argv.js';
import type { ProgramSpec } from './contract.js';
import type { Limits } from './limits.js';
import { PROXY_ENV, PROXY_SOCKET, type RelayNode, relayScript } from './network/relay.js';
import { seccompFilter } from './seccomp.js';

/** How a program is started: the argument vector on the host, and what it reads from file descriptors 5, 6 and from 7 on. */
export interface Command {
  readonly argv: readonly string[];
  readonly options: string;
  readonly filter: Uint8Array;
  readonly files: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface DriverContext {
  readonly limits: Limits;
  /** Folder with passwd, group, hosts and nsswitch.conf for the inside. */
  readonly etcDir: string;
  /** The service's data folder, its links resolved: no program sees it. */
  readonly dataDir: string;
  readonly relay: RelayNode;
}

/** A program, and the socket of the proxy that is its network. */
export interface ProgramToRun extends ProgramSpec {
  readonly proxySocket: string | null;
}

export interface Driver {
  /** True when it has a pid namespace, whose first process it names on file descriptor 4. */
  readonly isolates: boolean;
  command(program: ProgramToRun, context: DriverContext): Command;
}

export type DriverName = 'bubblewrap' | 'none';

const HOST_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin';

const FILTER = seccompFilter(process.arch);
const FILTERED = FILTER === null ? [] : ['--seccomp', '6'];
const NO_FILTER = new Uint8Array();

export const DRIVERS = {
  bubblewrap: {
    isolates: true,
    command: (program, { limits, relay, ...folders }) => ({
      argv: ['bwrap', '--args', '5', '--info-fd', '4', ...FILTERED, '--', ...limited(program, limits, relay)],
      options: bubblewrapOptions(networked(program, relay), { limits, ...folders })
        .map((option) => `${option}\0`)
        .join(''),
      filter: FILTER ?? NO_FILTER,
      files: (program.files ?? []).map(({ content }) => content),
      cwd: '/',
      env: { PATH: HOST_PATH },
    }),
  },
  none: {
    isolates: false,
    command: (program) => {
      const onHost = hostPaths(program);
      return {
        argv: program.argv.map(onHost),
        options: '',
        filter: NO_FILTER,
        files: [],
        cwd: onHost(program.cwd ?? program.workInside ?? '/work'),
        env: { PATH: HOST_PATH, HOME: program.workDir, LANG: 'C.UTF-8', TERM: 'dumb', ...envOnHost(program) },
      };
    },
  },
} as const satisfies Record<DriverName, Driver>;

/**
 * Limits a program's processes from within its user namespace, where only its own count (Linux 5.14). Set outside, the
 * limit would count all processes of the user on the host: one program could starve the others, and a user with a
 * desktop open could start none. Root is exempt from it; there the watchdog counts.
 */
function limited({ argv, proxySocket }: ProgramToRun, limits: Limits, relay: RelayNode): string[] {
  const network = proxySocket === null ? '' : relayScript(relay.inside);
  const script = `ulimit -u "$1" && shift && ${network}exec -- "$@"`;
  return ['bash', '-p', '-c', script, 'sandbox', String(limits.processes), ...argv];
}

/** The program with the proxy's variables; its own proxy variables take precedence. */
function networked(program: ProgramToRun, relay: RelayNode): ProgramSpec {
  const { proxySocket, env, readOnly } = program;
  if (proxySocket === null) return program;
  return {
    ...program,
    env: { ...PROXY_ENV, ...env },
    readOnly: [...readOnly, { host: proxySocket, inside: PROXY_SOCKET }, ...relay.mounts],
  };
}

/** Without a mount namespace, a path inside is replaced by its path on the host. */
function hostPaths(program: ProgramSpec): (text: string) => string {
  const mounts = [...program.readOnly, { host: program.workDir, inside: program.workInside ?? '/work' }];
  return (text) => {
    const mount = mounts.find(({ inside }) => text === inside || text.startsWith(`${inside}/`));
    return mount ? mount.host + text.slice(mount.inside.length) : text;
  };
}

/** Replaces paths under /run in variables, of a socket or of the program's own file, by their paths on the host. */
function envOnHost({ env, readOnly }: ProgramSpec): Record<string, string> {
  const mounts = readOnly.filter(({ inside }) => inside.startsWith('/run/'));
  const onHost = (value: string) => mounts.reduce((text, { inside, host }) => text.replaceAll(inside, host), value);
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, onHost(value)]));
}
