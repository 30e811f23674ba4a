import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { type Child, endProcess } from './child.js';
import type { DataFolder } from './data-folder.js';
import { folderOf, isOfFolder } from './folder-identity.js';
import { isAlive, type ProcessIdentity, startedAt } from './process-identity.js';

const SERVERS = ['postgres', 'temporal'] as const;
export type ServerName = (typeof SERVERS)[number];

const Identity = z.object({
  pid: z.number(),
  started: z.string(),
  port: z.number().optional(),
  /** The identity of the folder that it serves. Absent in records of older builds. */
  folder: z.string().optional(),
});
const Records = z.partialRecord(z.enum(SERVERS), Identity);
type Records = z.infer<typeof Records>;

/**
 * The signals that stop each server. Postgres gets its fast shutdown, then the immediate one, after which the next
 * start recovers from the log (https://www.postgresql.org/docs/18/server-shutdown.html).
 */
const END_SIGNALS = {
  postgres: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
  temporal: ['SIGTERM', 'SIGKILL'],
} as const satisfies Record<ServerName, readonly NodeJS.Signals[]>;

/** Time after each signal. Postgres writes all dirty pages before it exits. */
const END_PATIENCE_MS = { postgres: 20_000, temporal: 10_000 } as const satisfies Record<ServerName, number>;

/** The kernel needs a moment to end a process. */
const KILL_PATIENCE_MS = 2_000;

export interface RecordedServer extends ProcessIdentity {
  readonly port?: number | undefined;
  readonly folder?: string | undefined;
}

/** Records which process serves the folder, right after its start, so that a later start can find it. */
export function recordServer(file: string, name: ServerName, identity: RecordedServer | null): void {
  const { [name]: _old, ...others } = readRecords(file);
  const records = identity ? { ...others, [name]: { ...identity, folder: folderOf(file) } } : others;
  const draft = `${file}.new`;
  writeFileSync(draft, JSON.stringify(records), { mode: 0o600 });
  renameSync(draft, file);
}

/** Stops a server and deletes its record. */
export async function endServer(folder: DataFolder, name: ServerName, child: Child): Promise<void> {
  await endProcess(child.identity, END_SIGNALS[name], END_PATIENCE_MS[name]);
  if (existsSync(folder.root)) recordServer(folder.processes, name, null);
}

/** Kills a server and its children at once, even when they are paused. */
export async function killServer(child: Child): Promise<void> {
  await endProcess(child.identity, ['SIGKILL'], KILL_PATIENCE_MS);
}

/** Ends the servers of this folder that a killed service left behind. Returns their names. */
export async function endOrphans(file: string): Promise<readonly ServerName[]> {
  const records = readRecords(file);
  const ended: ServerName[] = [];
  for (const name of SERVERS) {
    const identity = records[name];
    if (
      identity &&
      isOfFolder(file, identity) &&
      (await endProcess(identity, END_SIGNALS[name], END_PATIENCE_MS[name]))
    )
      ended.push(name);
  }
  return ended;
}

/** The record of a live server that serves the folder from which this one was copied; else null. */
export function copiedRecord(file: string, name: ServerName): RecordedServer | null {
  const { [name]: record } = readRecords(file);
  return record && isAlive(record) && !isOfFolder(file, record) ? record : null;
}

/** True if the recorded server's pid belongs to a process that started at another time. */
export function isOtherThanRecorded(file: string, name: ServerName, pid: number): boolean {
  const { [name]: record } = readRecords(file);
  const started = startedAt(pid);
  return record?.pid === pid && record.started !== '' && started !== null && started !== record.started;
}

/** The records of this folder's live servers. */
export function livingServers(file: string): Readonly<Partial<Record<ServerName, RecordedServer>>> {
  const records = Object.entries(readRecords(file)).filter(
    ([, identity]) => isAlive(identity) && isOfFolder(file, identity),
  );
  return Object.fromEntries(records);
}

function readRecords(file: string): Records {
  try {
    return Records.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // Missing on the first start. Only an edit by hand damages it, and Postgres has a lock of its own.
    return {};
  }
}
