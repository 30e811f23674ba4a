import type { Sql } from '../platform/db/contract.js';
import type { ProgramSpec } from './contract.js';
import type { ProcessId } from './process-table.js';

export interface RegisterRow extends ProcessId {
  readonly id: string;
  readonly worker: string;
}

export interface Registration {
  readonly id: string;
  readonly host: string;
  readonly worker: string;
  readonly process: ProcessId;
  readonly program: ProgramSpec;
}

/** Registers a process before it may act, so that it can be found and killed even if its worker dies. */
export async function register(sql: Sql, { id, host, worker, process, program }: Registration): Promise<void> {
  await sql.query({
    name: 'sandbox-register',
    text: `INSERT INTO sandbox_process (id, run_id, lane, worker_id, host, pid, ticks, dir)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      id,
      program.owner.runId,
      program.owner.lane,
      worker,
      host,
      process.pid,
      process.ticks.toString(),
      program.workDir,
    ],
  });
}

export async function unregister(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query({
    name: 'sandbox-unregister',
    text: 'DELETE FROM sandbox_process WHERE id = ANY($1::text[])',
    values: [ids],
  });
}

export async function listRegistered(sql: Sql, host: string): Promise<RegisterRow[]> {
  const rows = await sql.query<{ id: string; worker: string; pid: number; ticks: bigint }>({
    name: 'sandbox-registered',
    text: 'SELECT id, worker_id AS worker, pid, ticks FROM sandbox_process WHERE host = $1',
    values: [host],
  });
  return rows.map((row) => ({ ...row, ticks: BigInt(row.ticks) }));
}

/** Rows of hosts that no longer exist, so neither do their processes; their runs ended an hour ago. */
export async function deleteStaleRows(sql: Sql, host: string): Promise<void> {
  await sql.query({
    name: 'sandbox-forgotten',
    text: `DELETE FROM sandbox_process s WHERE s.host <> $1 AND NOT EXISTS (
      SELECT 1 FROM run r WHERE r.id = s.run_id AND (r.finished_at IS NULL OR r.finished_at > now() - interval '1 hour'))
      AND NOT EXISTS (SELECT 1 FROM tool_test t WHERE t.id = s.run_id)`,
    values: [host],
  });
}
