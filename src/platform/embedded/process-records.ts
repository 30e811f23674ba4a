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
  /** Of whose data it serves. Absent in records of older builds. */
  folder: z.string().optional(),
});
const Records = z.partialRecord(z.enum(SERVERS), Identity);
type Records = z.infer<typeof Records>;

/**
 * How each server is asked to end: Postgres by its fast shutdown, then by the immediate one, which recovers from the
 * log at the next start (https://www.postgresql.org/docs/18/server-shutdown.html).
 */
const END_SIGNALS = {
  postgres: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
  temporal: ['SIGTERM', 'SIGKILL'],
} as const satisfies Record<ServerName, readonly NodeJS.Signals[]>;

/** Patience for each of the signals. Postgres writes all that is dirty before it goes. */
const END_PATIENCE_MS = { postgres: 20_000, temporal: 10_000 } as const satisfies Record<ServerName, number>;

/** The kernel needs a moment to end a process. */
const KILL_PATIENCE_MS = 2_000;

export interface RecordedServer extends ProcessIdentity {
  readonly port?: number | undefined;
  readonly folder?: string | undefined;
}

/** Records which process serves the folder, right after its start: a later start must be able to find it. */
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

/** Ends a server at once, and what it has started, even when it is stopped. */
export async function killServer(child: Child): Promise<void> {
  await endProcess(child.identity, ['SIGKILL'], KILL_PATIENCE_MS);
}

/** Ends the servers of this folder that a service which was killed left behind; answers their names. */
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

/** The record of a server that came along when this folder was copied from another one. */
export function copiedRecord(file: string, name: ServerName): RecordedServer | null {
  const { [name]: record } = readRecords(file);
  return record && isAlive(record) && !isOfFolder(file, record) ? record : null;
}

/** Whether a process lives under the pid of the recorded server, and started at another time. */
export function isOtherThanRecorded(file: string, name: ServerName, pid: number): boolean {
  const { [name]: record } = readRecords(file);
  const started = startedAt(pid);
  return record?.pid === pid && record.started !== '' && started !== null && started !== record.started;
}

/** The servers of this folder that live, as they were recorded. */
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
    // Missing on the first start; damaged only by hand, and Postgres has a lock of its own.
    return {};
  }
}
