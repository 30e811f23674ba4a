import { chmod, chown, lstat, mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFolder } from '../../sandbox/index.js';
import { newId } from '../../shared/ids.js';
import { isRecord } from '../../shared/json.js';

/**
 * The maximum of prepared environments on one machine, kept by the hash of their content. Environments in use are never
 * removed.
 */
const MOST_BYTES = 4 * 1_073_741_824;
const MOST_ENTRIES = 64;
/** A user touches its environment each minute: one that was not touched for this long is unused. */
const IDLE_MS = 600_000;
const TOUCH_MS = 60_000;
/** Longer than any preparation may take: what is older was left by a worker that died. */
const ABANDONED_MS = 7_200_000;

export interface CacheEntry {
  /** On this host, to be shown as /runtime. */
  readonly host: string;
  readonly hasNodeModules: boolean;
}

export interface RuntimeCache {
  readonly root: string;
  readonly uid: number | undefined;
}

/** The environment of that hash, marked as used now; null when there is none. */
export async function findEntry({ root }: RuntimeCache, hash: string): Promise<CacheEntry | null> {
  const folder = join(root, hash);
  const made = await readFile(join(folder, 'made'), 'utf8').catch(() => null);
  if (made === null) return null;
  await touch(folder);
  const value: unknown = JSON.parse(made);
  return { host: join(folder, 'env'), hasNodeModules: isRecord(value) && value.hasNodeModules === true };
}

/** Protects an environment from removal until the returned function is called. */
export function holdEntry({ root }: RuntimeCache, hash: string): () => void {
  const timer = setInterval(() => void touch(join(root, hash)), TOUCH_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** A new folder to prepare an environment in; placeEntry gives it its final name. */
export async function newEntry({ root, uid }: RuntimeCache): Promise<string> {
  const folder = join(root, 'new', newId());
  const env = join(folder, 'env');
  await mkdir(env, { recursive: true });
  for (const open of [root, join(root, 'new'), folder]) await chmod(open, 0o711);
  await chmod(env, 0o755);
  if (uid !== undefined) await chown(env, uid, uid);
  return folder;
}

/** Gives a prepared folder its final name. Of two that were prepared concurrently, which are alike, one stays. */
export async function placeEntry({ root }: RuntimeCache, hash: string, folder: string, bytes: number): Promise<void> {
  // A program may have left a link to anywhere, so only a folder is accepted.
  const hasNodeModules = (await lstat(join(folder, 'env', 'node_modules')).catch(() => null))?.isDirectory() === true;
  await writeFile(join(folder, 'made'), JSON.stringify({ bytes, hasNodeModules }));
  await rename(folder, join(root, hash)).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    await removeFolder(folder);
  });
}

/** Removes the least recently used environments while there are too many, and the incomplete ones of dead workers. */
export async function makeRoom(
  { root }: RuntimeCache,
  most = { bytes: MOST_BYTES, entries: MOST_ENTRIES },
): Promise<void> {
  for (const name of await names(join(root, 'new'))) {
    const folder = join(root, 'new', name);
    if ((await age(folder)) > ABANDONED_MS) await removeFolder(folder);
  }
  const hashes = (await names(root)).filter((name) => /^[0-9a-f]{64}$/.test(name));
  const entries = await Promise.all(hashes.map((hash) => lookAt(root, hash)));
  entries.sort((a, b) => b.idleMs - a.idleMs);
  let bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  let count = entries.length;
  for (const entry of entries) {
    if ((bytes <= most.bytes && count <= most.entries) || entry.idleMs < IDLE_MS) break;
    if (!(await moveOut(root, entry.hash))) continue;
    bytes -= entry.bytes;
    count -= 1;
  }
}

/** Moves it away at once, so that no process finds half of it; moves it back if a process has just started to use it. */
async function moveOut(root: string, hash: string): Promise<boolean> {
  const folder = join(root, hash);
  const gone = join(root, 'new', newId());
  if (
    !(await rename(folder, gone).then(
      () => true,
      () => false,
    ))
  )
    return false;
  if (
    (await age(join(gone, 'made'))) < IDLE_MS &&
    (await rename(gone, folder).then(
      () => true,
      () => false,
    ))
  )
    return false;
  await removeFolder(gone);
  return true;
}

async function lookAt(root: string, hash: string) {
  const made = join(root, hash, 'made');
  const value: unknown = JSON.parse(await readFile(made, 'utf8').catch(() => '{}'));
  const bytes = isRecord(value) && typeof value.bytes === 'number' ? value.bytes : 0;
  return { hash, bytes, idleMs: await age(made) };
}

async function touch(folder: string): Promise<void> {
  const now = new Date();
  await utimes(join(folder, 'made'), now, now).catch(() => undefined);
}

async function age(path: string): Promise<number> {
  const entry = await stat(path).catch(() => null);
  return entry === null ? 0 : Date.now() - entry.mtimeMs;
}

async function names(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
