import type { Stats } from 'node:fs';
import { readFile, readlink, stat } from 'node:fs/promises';
import { insideProc, listNumbers } from './watchdog.js';

export interface HiddenUse {
  /** Of files that are deleted but still open or mapped, and of memory files. */
  readonly bytes: number;
  /** Of memory that processes share, in bytes, whether they have it mapped in now or not. */
  readonly shared: number;
  /** Descriptors that were sent over a socket and not received yet: their files cannot be determined. */
  readonly inFlight: number;
}

export const NOTHING: HiddenUse = { bytes: 0, shared: 0, inFlight: 0 };

/** What a program occupies outside of its folder. */
export async function measureHidden(init: number): Promise<HiddenUse> {
  const proc = insideProc(init);
  if (proc === null) return NOTHING;
  const seen: Seen = { files: new Map(), shared: new Map(), sockets: new Map() };
  for (const entry of listNumbers(proc)) {
    await addOpen(`${proc}/${entry}`, seen);
    await addMapped(`${proc}/${entry}`, seen);
  }
  return { bytes: sum(seen.files), shared: sum(seen.shared), inFlight: sum(seen.sockets) };
}

interface Seen {
  /** Bytes by device and inode. */
  readonly files: Map<string, number>;
  readonly shared: Map<string, number>;
  /** Descriptors that wait in a socket, by its inode. */
  readonly sockets: Map<string, number>;
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

async function addOpen(process: string, { files, sockets }: Seen): Promise<void> {
  for (const descriptor of listNumbers(`${process}/fd`)) {
    const path = `${process}/fd/${descriptor}`;
    const target = await readlink(path).catch(() => '');
    if (target.startsWith('socket:')) sockets.set(target, await countSent(`${process}/fdinfo/${descriptor}`));
    if (!target.endsWith(' (deleted)')) continue;
    const file = await stat(path).catch(() => null);
    if (file?.isFile()) files.set(fileKey(file), file.blocks * 512);
  }
}

/** `scm_fds` of a Unix socket (proc_pid_fdinfo(5), Linux 5.6): what waits in it, or in sockets that wait in it. */
async function countSent(path: string): Promise<number> {
  const info = await readFile(path, 'latin1').catch(() => '');
  return Number(/^scm_fds:\s*(\d+)/m.exec(info)?.[1] ?? 0);
}

/** A line of /proc/<pid>/maps (proc_pid_maps(5)) of a file that has no name any more. */
const DELETED = /^([0-9a-f]+)-([0-9a-f]+) \S+ [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) (\d+) +(.*)\(deleted\)$/gm;
/** The kernel's names for shared memory without a file (mmap(2) with MAP_ANONYMOUS, shmget(2)). */
const SHARED = /^\/(dev\/zero|SYSV[0-9a-f]{8}) $/;

/** Files that are closed too, and live by their mapping alone. */
async function addMapped(process: string, { files, shared }: Seen): Promise<void> {
  const maps = await readFile(`${process}/maps`, 'latin1').catch(() => '');
  for (const [, from = '0', to = '0', device = '', inode = '', name = ''] of maps.matchAll(DELETED)) {
    const [start, end] = [BigInt(`0x${from}`), BigInt(`0x${to}`)];
    const key = `${device}:${inode}`;
    const seen = SHARED.test(name) ? shared : files;
    // Only a privileged worker can read the file's size; others count the mapped part.
    const file = await stat(`${process}/map_files/${start.toString(16)}-${end.toString(16)}`).catch(() => null);
    seen.set(key, file ? file.blocks * 512 : Math.max(seen.get(key) ?? 0, Number(end - start)));
  }
}

/** A file as maps names it: Linux packs its device's numbers so (makedev(3)). */
function fileKey({ dev, ino }: Stats): string {
  const hex = (number: number) => number.toString(16).padStart(2, '0');
  return `${hex((dev >> 8) & 0xfff)}:${hex((dev & 0xff) | ((dev >> 12) & 0xfff00))}:${ino}`;
}
