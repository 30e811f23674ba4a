import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findOrphans, isAlive, isWorkerAlive, killProcess, waitUntilGone } from './process-table.js';
import { dropForgotten, listRegistered, type RegisterRow, unregister } from './register.js';
import { removeFolder } from './remove-folder.js';
import type { Host, LiveProgram } from './run-program.js';

/** Far longer than a program takes between creating its socket and registering. */
const STARTING_MS = 600_000;

/**
 * Removes what workers of this host left: registered processes whose worker is gone, rows of processes that are
 * gone, and folders of runs that have ended. `live` are the programs that this worker runs now.
 */
export async function reapLeftovers(
  host: Host,
  scratchDir: string,
  live: ReadonlyMap<string, LiveProgram>,
): Promise<void> {
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
  await dropForgotten(host.db, host.host);
  await removeSockets(host, all);
  await removeEndedFolders(host, scratchDir, new Set([...live.values()].map(({ owner }) => owner.runId)));
}

/** Proxy folders of killed workers, whose program is not registered and was not about to be. */
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
