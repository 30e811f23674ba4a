import { lstatSync, readlinkSync } from 'node:fs';
import type { ProgramSpec } from './contract.js';
import type { Limits } from './limits.js';

/** The user and group id inside the sandbox ("nobody"), whichever user starts it. */
const UNPRIVILEGED_ID = '65534';
const SYSTEM_FOLDERS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'] as const;
/**
 * The parts of the host's /etc that programs need. Accounts, hosts and resolver come from `etcDir`, so no secret is
 * exposed.
 */
const HOST_ETC = ['ld.so.cache', 'alternatives', 'ssl/certs', 'ssl/openssl.cnf', 'localtime', 'mime.types'] as const;
const OWN_ETC = ['passwd', 'group', 'hosts', 'nsswitch.conf'] as const;

/** The first descriptor for a program's own files; the further files use the next ones. */
export const FIRST_FILE = 7;

/** The search path for programs that are named without a path. */
export const PROGRAM_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin';

export const BASE_ENV: Readonly<Record<string, string>> = {
  PATH: PROGRAM_PATH,
  HOME: '/tmp',
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
};

/**
 * The options of bwrap(1) for a program, without the program itself. They carry its environment, secrets
 * included: hand them over by `--args`, since an argument vector can be read by every user of the host.
 */
export function bubblewrapOptions(
  program: ProgramSpec,
  { limits, etcDir, dataDir }: { readonly limits: Limits; readonly etcDir: string; readonly dataDir: string },
): string[] {
  const env = { ...BASE_ENV, ...program.env };
  const work = program.workInside ?? '/work';
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--clearenv'],
    ...['--uid', UNPRIVILEGED_ID, '--gid', UNPRIVILEGED_ID, '--hostname', 'sandbox'],
    ...systemMounts(etcDir),
    ...hide(dataDir),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...tmpfs('/dev/shm', limits.shm),
    ...['--remount-ro', '/dev'],
    ...tmpfs('/tmp', limits.tmp),
    ...['--bind', program.workDir, work],
    ...program.readOnly.flatMap(({ host, inside }) => ['--ro-bind', host, inside]),
    ...(program.files ?? []).flatMap(({ inside }, index) => [
      '--perms',
      '0400',
      '--file',
      String(FIRST_FILE + index),
      inside,
    ]),
    // The root is a tmpfs without a size limit, so nothing may be written there.
    ...['--remount-ro', '/', '--chdir', program.cwd ?? work],
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

function tmpfs(path: string, bytes: number): string[] {
  return ['--perms', '1777', '--size', String(bytes), '--tmpfs', path];
}

/** Covers the data folder (keys, database and all) if programs would see it, as for a service in /usr/src/app. */
function hide(dataDir: string): string[] {
  const isSeen = ['usr', ...SYSTEM_FOLDERS].some((name) => dataDir.startsWith(`/${name}/`));
  return isSeen ? ['--perms', '0555', '--size', '4096', '--tmpfs', dataDir, '--remount-ro', dataDir] : [];
}

function systemMounts(etcDir: string): string[] {
  const folders = SYSTEM_FOLDERS.flatMap((name) => {
    const stat = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (!stat) return [];
    return stat.isSymbolicLink()
      ? ['--symlink', readlinkSync(`/${name}`), `/${name}`]
      : ['--ro-bind', `/${name}`, `/${name}`];
  });
  return [
    ...['--ro-bind', '/usr', '/usr'],
    ...folders,
    ...HOST_ETC.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...OWN_ETC.flatMap((name) => ['--ro-bind', `${etcDir}/${name}`, `/etc/${name}`]),
  ];
}
