import { chmod, mkdir, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../platform/config/index.js';
import type { Db } from '../platform/db/contract.js';
import type { Net } from '../platform/net/contract.js';
import { newId } from '../shared/ids.js';
import type { Log } from '../shared/log.js';
import { Refusal } from '../shared/refusal.js';
import { startLoops } from '../shared/repeat.js';
import type { ProgramSpec, Sandbox } from './contract.js';
import { DRIVERS, type DriverName } from './drivers.js';
import type { Identity } from './launch.js';
import { DEFAULT_LIMITS, type Limits } from './limits.js';
import { prepareRelay } from './network/relay.js';
import { probeBubblewrap } from './probe.js';
import {
  findOrphans,
  hostIdentity,
  isAlive,
  isWorkerAlive,
  killProcess,
  waitUntilGone,
  workerIdentity,
} from './process-table.js';
import { deleteStaleRows, listRegistered, type RegisterRow, unregister } from './register.js';
import { removeFolder } from './remove-folder.js';
import { type Host, type LiveProgram, startProgram } from './run-program.js';

/** Far longer than a program takes between creating its socket and registering. */
const STARTING_MS = 600_000;

interface SandboxInput {
  readonly config: Pick<Config, 'dataDir' | 'sandbox'>;
  readonly db: Db;
  readonly log: Log;
  /** Connects to the hosts that programs are granted. */
  readonly net: Net;
  readonly workerId: string;
  readonly limits?: Partial<Limits>;
}

const REAP_MS = 30_000;

const RED = '\u001b[31m';

const PLAIN = '\u001b[0m';

/**
 * The sandbox of this worker. What an earlier worker of the host left is removed now and every 30 s. Without
 * bubblewrap the answer has driver `unavailable`, and the reason says what to install.
 */
export async function createSandbox(input: SandboxInput): Promise<Sandbox> {
  const { config, log } = input;
  const host = await prepareHost(input);
  const choice = await choose(config.sandbox, host);
  const live = new Map<string, LiveProgram>();
  const relay = await prepareRelay(join(config.dataDir, 'sandbox', 'relay'), choice.identity.uid);
  const ready: Host = { ...host, relay, driver: DRIVERS[choice.driver ?? 'none'], identity: choice.identity };
  if (choice.reason !== null) log.warn({ reason: choice.reason }, 'programs are refused: there is no sandbox');
  if (choice.driver === 'none') {
    log.warn(
      {},
      `${RED}SERVICE_SANDBOX=none: programs run on this host without a sandbox, for development only${PLAIN}`,
    );
  }
  const reap = () => reapLeftovers(ready, join(config.dataDir, 'scratch'), live);
  await reap();
  const loops = startLoops(log, [{ name: 'leftover sandboxes', everyMs: REAP_MS, work: reap }]);
  return {
    driver: choice.driver ?? 'unavailable',
    reason: choice.reason,
    ...(choice.identity.uid === null ? {} : { uid: choice.identity.uid }),
    run: (program) => {
      if (choice.reason !== null) return Promise.reject(new Refusal('unavailable', choice.reason));
      return runTracked(ready, live, program);
    },
    kill: (runId, lane) =>
      stopAll([...live.values()].filter(({ owner }) => owner.runId === runId && (lane ?? owner.lane) === owner.lane)),
    reap,
    close: async () => {
      await Promise.all([loops.close(), stopAll([...live.values()])]);
    },
  };
}

interface Choice {
  readonly driver: DriverName | null;
  readonly identity: Identity;
  readonly reason: string | null;
}

async function choose(wanted: Config['sandbox'], host: Omit<Host, 'driver' | 'identity'>): Promise<Choice> {
  if (wanted === 'none') return { driver: 'none', identity: { uid: null }, reason: null };
  const probed = await probeBubblewrap(host);
  return { driver: probed.reason === null ? 'bubblewrap' : null, ...probed };
}

async function runTracked(host: Host, live: Map<string, LiveProgram>, program: ProgramSpec) {
  const started = startProgram(host, program, newId());
  live.set(started.id, started);
  try {
    return await started.done;
  } finally {
    live.delete(started.id);
  }
}

async function stopAll(programs: readonly LiveProgram[]): Promise<void> {
  for (const program of programs) program.stop('stopped');
  await Promise.allSettled(programs.map((program) => program.done));
}

/** Creates the folders and files that every program needs. There are two accounts inside, neither from the host. */
async function prepareHost({
  config,
  db,
  log,
  net,
  workerId,
  limits,
}: SandboxInput): Promise<Omit<Host, 'driver' | 'identity'>> {
  const root = join(config.dataDir, 'sandbox');
  const etcDir = join(root, 'etc');
  const tmpDir = join(root, 'stdin');
  const netDir = join(root, 'net');
  for (const folder of [etcDir, tmpDir, netDir, join(root, 'relay')]) await mkdir(folder, { recursive: true });
  const scratch = join(config.dataDir, 'scratch');
  await mkdir(scratch, { recursive: true });
  // A root worker's programs run as an unprivileged user, who must enter this folder but not list it. Secrets in it are
  // 0600.
  if (process.getuid?.() === 0) await chmod(config.dataDir, ((await stat(config.dataDir)).mode & 0o777) | 0o001);
  for (const folder of [root, etcDir, netDir, join(root, 'relay'), scratch]) await chmod(folder, 0o711);
  for (const [name, text] of Object.entries(ETC)) await writeFile(join(etcDir, name), text, { mode: 0o644 });
  return {
    db,
    log,
    net,
    etcDir,
    tmpDir,
    netDir,
    relay: { inside: process.execPath, mounts: [] },
    dataDir: await realpath(config.dataDir),
    limits: { ...DEFAULT_LIMITS, ...limits },
    host: hostIdentity(),
    worker: workerIdentity(workerId),
  };
}

const ETC = {
  passwd: 'root:x:0:0:root:/:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/tmp:/bin/bash\n',
  group: 'root:x:0:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 sandbox\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
} as const;

/**
 * Removes what workers of this host left: registered processes whose worker is gone, rows of processes that are
 * gone, and folders of runs that have ended. `live` are the programs that this worker runs now.
 */
async function reapLeftovers(host: Host, scratchDir: string, live: ReadonlyMap<string, LiveProgram>): Promise<void> {
  const all = await listRegistered(host.db, host.host);
  const rows = all.filter((row) => !live.has(row.id));
  const leftovers = rows.filter((row) => row.worker === host.worker || !isWorkerAlive(row.worker));
  const dead: string[] = [];
  for (const row of leftovers) {
    const processes = isAlive(row) ? [row] : findOrphans(row);
    if (isAlive(row)) killProcess(row.pid, true);
    else for (const orphan of processes) killProcess(orphan.pid, false);
    if (processes.length > 0)
      host.log.warn({ pid: row.pid, worker: row.worker }, 'killed a sandbox whose worker is gone');
    if (await waitUntilGone(processes, 5_000)) dead.push(row.id);
    else host.log.error({ pid: row.pid }, 'failed to kill a leftover sandbox, will retry');
  }
  await unregister(host.db, dead);
  await deleteStaleRows(host.db, host.host);
  await removeSockets(host, all);
  await removeEndedFolders(host, scratchDir, new Set([...live.values()].map(({ owner }) => owner.runId)));
}

/** Removes proxy folders of killed workers: no program is registered for them, and none can be about to register. */
async function removeSockets({ netDir }: Host, rows: readonly RegisterRow[]): Promise<void> {
  const registered = new Set(rows.map(({ id }) => id));
  for (const id of await readdir(netDir).catch(() => [])) {
    const age = Date.now() - ((await stat(join(netDir, id)).catch(() => null))?.mtimeMs ?? Date.now());
    if (!registered.has(id) && age > STARTING_MS) await removeFolder(join(netDir, id));
  }
}

async function removeEndedFolders(host: Host, scratchDir: string, inUse: ReadonlySet<string>): Promise<void> {
  const runs = await readdir(scratchDir).catch(() => []);
  if (runs.length === 0) return;
  const live = await host.db.query<{ id: string }>({
    name: 'sandbox-live-runs',
    text: `SELECT id FROM run WHERE id = ANY($1::text[]) AND finished_at IS NULL
      UNION ALL SELECT id FROM tool_test WHERE id = ANY($1::text[]) AND finished_at IS NULL`,
    values: [runs],
  });
  const keep = new Set([...live.map((row) => row.id), ...inUse]);
  for (const run of runs.filter((name) => !keep.has(name))) {
    // A folder that cannot be removed must not stop the others or the worker's start.
    await removeFolder(join(scratchDir, run)).catch((error: unknown) =>
      host.log.error({ run, err: error }, 'failed to remove the folder of an ended run'),
    );
  }
}
