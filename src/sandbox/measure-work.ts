import type { Stats } from 'node:fs';
import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Limits } from './limits.js';
import { insideProc, listNumbers } from './watchdog.js';

export interface WorkUse {
  /** Blocks on the disk, so a sparse file counts what it holds. */
  bytes: number;
  files: number;
}

/** Gone meanwhile, or no folder any more. */
const GONE = new Set(['ENOENT', 'ENOTDIR']);

/**
 * What a folder takes, no further than its limits: what is over them need not be counted to the end. A folder that
 * cannot be looked into (closed by its program, or deeper than a path can be long) could hold anything: it is too much.
 */
export async function measureFolder(folder: string, limits: Limits): Promise<WorkUse> {
  const use: WorkUse = { bytes: 0, files: 0 };
  const rest = [folder];
  for (let next = rest.pop(); next !== undefined && !isOver(use, limits); next = rest.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (!GONE.has(error.code ?? '')) use.bytes = Number.POSITIVE_INFINITY;
      return [];
    });
    for (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) rest.push(path);
      use.files += 1;
      use.bytes += ((await lstat(path).catch(() => null))?.blocks ?? 0) * 512;
      if (isOver(use, limits)) break;
    }
  }
  return use;
}

/** Bytes of files that are deleted but still open or mapped, and of memory files: no folder shows them. */
export async function measureHidden(init: number): Promise<number> {
  const proc = insideProc(init);
  if (proc === null) return 0;
  const seen = new Map<string, number>();
  for (const entry of listNumbers(proc)) {
    await addOpen(`${proc}/${entry}/fd`, seen);
    await addMapped(`${proc}/${entry}`, seen);
  }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

async function addOpen(folder: string, seen: Map<string, number>): Promise<void> {
  for (const descriptor of listNumbers(folder)) {
    const path = `${folder}/${descriptor}`;
    const target = await readlink(path).catch(() => '');
    if (!target.endsWith(' (deleted)')) continue;
    const file = await stat(path).catch(() => null);
    if (file?.isFile()) seen.set(fileKey(file), file.blocks * 512);
  }
}

/** A line of /proc/<pid>/maps (proc_pid_maps(5)) of a file that has no name any more. */
const DELETED = /^([0-9a-f]+)-([0-9a-f]+) \S+ [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) (\d+) .*\(deleted\)$/gm;

/** Files that are closed too, and live by their mapping alone. */
async function addMapped(process: string, seen: Map<string, number>): Promise<void> {
  const maps = await readFile(`${process}/maps`, 'latin1').catch(() => '');
  for (const [, from = '0', to = '0', device = '', inode = ''] of maps.matchAll(DELETED)) {
    const [start, end] = [BigInt(`0x${from}`), BigInt(`0x${to}`)];
    const key = `${device}:${inode}`;
    // Only a privileged worker is told what the file holds; to others it holds what is mapped of it.
    const file = await stat(`${process}/map_files/${start.toString(16)}-${end.toString(16)}`).catch(() => null);
    seen.set(key, file ? file.blocks * 512 : Math.max(seen.get(key) ?? 0, Number(end - start)));
  }
}

/** A file as maps names it: Linux packs its device's numbers so (makedev(3)). */
function fileKey({ dev, ino }: Stats): string {
  const hex = (number: number) => number.toString(16).padStart(2, '0');
  return `${hex((dev >> 8) & 0xfff)}:${hex((dev & 0xff) | ((dev >> 12) & 0xfff00))}:${ino}`;
}

export function isOver(use: WorkUse, limits: Limits): boolean {
  return use.bytes > limits.work || use.files > limits.workFiles;
}
