import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endWithProcess } from './child.js';
import type { DataFolder } from './data-folder.js';
import type { RunAs } from './postgres-user.js';
import { explainFileError, StartError } from './start-error.js';

const run = promisify(execFile);

/** The major version whose files our binaries read. */
const MAJOR = '18';

// Text sorts by code point and letter case follows Unicode, whatever the machine's locale is.
const INITDB = [
  '--username=signalbox',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
];

/** Creates the cluster if there is none and returns the password of its one user. Replaces an incomplete one. */
export async function ensureCluster(
  folder: DataFolder,
  {
    initdb,
    user,
    signal,
  }: { readonly initdb: string; readonly user: RunAs; readonly signal?: AbortSignal | undefined },
): Promise<string> {
  if (existsSync(folder.postgres)) return checkCluster(folder);
  const password = randomBytes(24).toString('base64url');
  const draft = `${folder.postgres}.new`;
  const passwordFile = join(folder.root, '.initdb-password');
  try {
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (user.owner) {
      for (const path of [draft, passwordFile]) await chown(path, user.owner.uid, user.owner.gid);
    }
    const { command, args } = user.command(initdb, [...INITDB, `--pgdata=${draft}`, `--pwfile=${passwordFile}`]);
    const running = run(command, [...args], {
      env: { LC_ALL: 'C' },
      cwd: folder.root,
      ...user.spawnAs,
      ...(signal && { signal }),
    });
    endWithProcess(running.child);
    await running;
    await writeFile(folder.postgresPassword, password, { mode: 0o600 });
    // Only a complete cluster gets the name that later starts look for.
    await rename(draft, folder.postgres);
    return password;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw explainInitdb(error, folder);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function checkCluster(folder: DataFolder): Promise<string> {
  const major = await readFile(join(folder.postgres, 'PG_VERSION'), 'utf8').catch(() => '');
  if (major.trim() !== MAJOR) {
    throw new StartError(
      major === ''
        ? `${folder.postgres} holds no database that Postgres can read: restore the data folder from a backup, or move it away to begin with an empty one.`
        : `${folder.postgres} was written by Postgres ${major.trim()} and this is ${MAJOR}: move the data over with pg_dump and pg_restore, or set DATABASE_URL.`,
    );
  }
  try {
    return (await readFile(folder.postgresPassword, 'utf8')).trim();
  } catch (error) {
    throw new StartError(
      `${folder.postgresPassword} cannot be read, and the database needs the password in it: restore it from a backup of the data folder.`,
      { cause: error },
    );
  }
}

function explainInitdb(error: unknown, folder: DataFolder): unknown {
  const explained = explainFileError(error, folder.root);
  if (explained instanceof StartError) return explained;
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  if (/No space left on device/.test(text)) {
    return explainFileError(Object.assign(new Error(text), { code: 'ENOSPC' }), folder.root);
  }
  return new StartError(`Postgres could not make its data folder ${folder.postgres}: ${text || String(error)}`, {
    cause: error,
  });
}
