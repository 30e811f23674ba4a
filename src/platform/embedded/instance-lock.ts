import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { folderOf } from './folder-identity.js';
import { identify, isAlive } from './process-identity.js';
import { explainFileError, StartError } from './start-error.js';

const Holder = z.object({
  pid: z.number(),
  started: z.string(),
  address: z.string(),
  /** Absent in locks of older builds. */
  folder: z.string().optional(),
});
type Holder = z.infer<typeof Holder>;

export interface InstanceLock {
  release(): void;
}

/**
 * One instance per data folder. The lock file has its holder's pid and start time, so a later start takes over the lock
 * of a dead process, and one that was copied with another instance's folder. A second instance fails with the pid and
 * the address of the first.
 */
export function acquireLock(file: string, address: string): InstanceLock {
  const mine = JSON.stringify({ ...identify(process.pid), address, folder: folderOf(file) });
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, mine, { mode: 0o600 });
    for (let tries = 0; tries < 3; tries += 1) {
      if (link(draft, file)) return { release: () => release(file, mine) };
      const text = read(file);
      const holder = parse(text);
      if (holder && isAlive(holder) && isHere(file, holder)) throw new StartError(runningMessage(file, holder));
      if (text !== null) moveAway(file, text);
    }
    throw new StartError(`${file} is changed by other instances that start at the same moment: start again.`);
  } catch (error) {
    throw explainFileError(error, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** False for a lock that was copied with another folder. A lock without a folder may be of either, so it counts. */
function isHere(file: string, { folder }: Holder): boolean {
  return folder === undefined || folder === folderOf(file);
}

function runningMessage(file: string, { pid, address }: Holder): string {
  return `Signalbox already runs on this data folder (pid ${pid}, ${address}): use that one, stop it, or set SERVICE_DATA_DIR to another folder. The lock is ${file}.`;
}

/** A hard link is atomic, so no process reads an incomplete lock. */
function link(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function parse(text: string | null): Holder | null {
  try {
    return Holder.parse(JSON.parse(text ?? ''));
  } catch {
    // An unreadable file is not the lock of a live instance, since locks are created atomically.
    return null;
  }
}

/** Removes a stale lock. Restores one that another start created in the meantime. */
function moveAway(file: string, stale: string): void {
  const aside = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (read(aside) !== stale) link(aside, file);
  rmSync(aside, { force: true });
}

function release(file: string, mine: string): void {
  if (read(file) === mine) rmSync(file, { force: true });
}
