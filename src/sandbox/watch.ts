import type { Stats } from 'node:fs';
import { lstat, readdir, readFile, readlink, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Killed } from './contract.js';
import type { Limits } from './limits.js';
import type { ProcessId } from './process-table.js';
import { findExcess, insideProc, listNumbers } from './watchdog.js';

const NOTHING: HiddenUse = { bytes: 0, shared: 0, inFlight: 0 };

/** A line of /proc/<pid>/maps (proc_pid_maps(5)) for a deleted file. */
const DELETED = /^([0-9a-f]+)-([0-9a-f]+) \S+ [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) (\d+) +(.*)\(deleted\)$/gm;

/** The kernel's names for shared memory without a file (mmap(2) with MAP_ANONYMOUS, shmget(2)). */
const SHARED = /^\/(dev\/zero|SYSV[0-9a-f]{8}) $/;

/** Errors for a folder that was deleted or replaced by a file meanwhile. */
const GONE = new Set(['ENOENT', 'ENOTDIR']);

interface Watched {
  /** Null for a driver without a pid namespace: then only the folder is watched. */
  readonly init: ProcessId | null;
  readonly workDir: string;
  readonly limits: Limits;
}

type OnExcess = (why: Killed) => void;

const PROCESS_MS = 100;

const FOLDER_MS = 500;

/** Looks in a row that may find files in flight between processes: normally they are received within moments. */
const IN_FLIGHT_MEASURES = 6;

/** Watches a program's memory, processes and disk until the returned function is called. */
export function watch(watched: Watched, onExcess: OnExcess): () => void {
  const { init, limits } = watched;
  let stopped = false;
  const processes =
    init &&
    setInterval(() => {
      const excess = findExcess(init.pid, limits);
      if (excess) onExcess(excess);
    }, PROCESS_MS);
  let folder: NodeJS.Timeout;
  const measure = createMeasure(watched);
  const next = () => {
    folder = setTimeout(async () => {
      // A failed measurement says nothing about the program: the next one follows.
      const excess = await measure().catch(() => null);
      if (excess) onExcess(excess);
      else if (!stopped) next();
    }, FOLDER_MS);
  };
  next();
  return () => {
    stopped = true;
    clearTimeout(folder);
    if (processes) clearInterval(processes);
  };
}

/** Measures the folder. Called every half second; skips calls if the folder takes long to measure. */
function createMeasure({ init, workDir, limits }: Watched): () => Promise<Killed | null> {
  const pace = createMeasurePace(limits);
  let inFlight = 0;
  return async () => {
    const free = await freeOf(workDir);
    const begun = performance.now();
    if (!pace.isDue(begun, free)) return null;
    const use = await measureFolder(workDir, limits);
    const hidden = init ? await measureHidden(init.pid) : NOTHING;
    inFlight = hidden.inFlight > 0 ? inFlight + 1 : 0;
    pace.record(begun, performance.now(), free);
    const overrun = findOverrun({ ...use, bytes: use.bytes + hidden.bytes }, limits);
    if (hidden.shared > limits.memory) return 'memory';
    return overrun ?? (inFlight >= IN_FLIGHT_MEASURES ? 'in-flight' : null);
  };
}

async function freeOf(folder: string): Promise<FreeSpace> {
  const disk = await statfs(folder).catch(() => null);
  return disk ? { bytes: disk.bavail * disk.bsize, files: disk.ffree } : { bytes: 0, files: 0 };
}

/** The free space of a folder's disk. A disk that does not count files (btrfs) has 0 of them. */
interface FreeSpace {
  readonly bytes: number;
  readonly files: number;
}

interface MeasurePace {
  isDue(nowMs: number, free: FreeSpace): boolean;
  /** Records a measurement with its start and end times and the free space at its start. */
  record(startedMs: number, endedMs: number, free: FreeSpace): void;
}

/**
 * A big folder takes long to measure, so at most a tenth of the time goes into it, unless the disk has meanwhile lost a
 * large part of what the folder may hold, in bytes or in files.
 */
export function createMeasurePace(limits: Pick<Limits, 'work' | 'workFiles'>): MeasurePace {
  let dueMs = 0;
  let freeThen: FreeSpace = { bytes: 0, files: 0 };
  return {
    isDue: (nowMs, free) =>
      nowMs >= dueMs ||
      freeThen.bytes - free.bytes >= limits.work / 4 ||
      freeThen.files - free.files >= limits.workFiles / 4,
    record(startedMs, endedMs, free) {
      dueMs = startedMs + 10 * (endedMs - startedMs);
      freeThen = free;
    },
  };
}

interface WorkUse {
  /** Allocated blocks on the disk, so a sparse file counts only what it stores. */
  bytes: number;
  files: number;
}

/**
 * The size of a folder, counted only until a limit is exceeded. An unreadable folder (closed by its program, or nested
 * deeper than the longest path) could hold anything, so it counts as too large.
 */
async function measureFolder(folder: string, limits: Limits): Promise<WorkUse> {
  const use: WorkUse = { bytes: 0, files: 0 };
  const rest = [folder];
  for (let next = rest.pop(); next !== undefined && findOverrun(use, limits) === null; next = rest.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (!GONE.has(error.code ?? '')) use.bytes = Number.POSITIVE_INFINITY;
      return [];
    });
    for (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) rest.push(path);
      use.files += 1;
      use.bytes += ((await lstat(path).catch(() => null))?.blocks ?? 0) * 512;
      if (findOverrun(use, limits)) break;
    }
  }
  return use;
}

/** The limit that a folder exceeds, or null. */
function findOverrun(use: WorkUse, limits: Limits): 'disk' | 'files' | null {
  if (use.bytes > limits.work) return 'disk';
  return use.files > limits.workFiles ? 'files' : null;
}

interface HiddenUse {
  /** The size of files that are deleted but still open or mapped, and of memory files. */
  readonly bytes: number;
  /** The size of memory that processes share, whether they have it mapped now or not. */
  readonly shared: number;
  /** Descriptors that were sent over a socket and not received yet: their files cannot be determined. */
  readonly inFlight: number;
}

/** The storage that a program uses outside of its folder. */
async function measureHidden(init: number): Promise<HiddenUse> {
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

/** Adds deleted files that are closed too, and exist only through a mapping. */
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

/** A file's key as in maps. Linux packs the device's numbers this way (makedev(3)). */
function fileKey({ dev, ino }: Stats): string {
  const hex = (number: number) => number.toString(16).padStart(2, '0');
  return `${hex((dev >> 8) & 0xfff)}:${hex((dev & 0xff) | ((dev >> 12) & 0xfff00))}:${ino}`;
}
