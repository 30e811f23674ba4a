import type { Deps } from '../../deps.js';
import type { ToolTestResult, ToolTestSpec } from '../../engine/index.js';
import { audit, findWorkspace } from '../../people/index.js';
import type { Db, Sql } from '../../platform/db/contract.js';
import { sweepRows } from '../../platform/db/index.js';
import { startDeadline } from '../../shared/deadline.js';
import { newId } from '../../shared/ids.js';
import type { JsonObject } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { findTool, isFile } from './find-tool.js';

export interface TestToolInput {
  readonly workspace: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** One of the tool's operations, or the path of its file. */
  readonly path: string | undefined;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
}

export interface ToolTested {
  readonly ok: boolean;
  readonly status?: number;
  readonly result: string;
  readonly durationMs: number;
  readonly truncated: boolean;
}

/** Per workspace at a time: each test holds a sandbox on a worker. */
const MAX_AT_ONCE = 4;
/**
 * `TAKEN_UP_MS`: how long a worker may take to start a test, which normally starts at once. `WAIT_MS` also covers the
 * test's own time limit and transport.
 */
const TAKEN_UP_MS = 20_000;
const WAIT_MS = 100_000;

/**
 * Calls a tool as a run would, on a worker and in its sandbox, without a model. The test may use the secrets that the
 * agent is granted and those that the tool's file names: a caller who may test may also grant them.
 */
export async function testTool(deps: Deps, caller: Caller, input: TestToolInput): Promise<ToolTested> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const file = input.path !== undefined && isFile(input.path) ? input.path : null;
  const found = await findTool(deps, caller, { workspace, tool: input.tool, file });
  const operation = file === null ? (input.path ?? null) : null;
  const spec: ToolTestSpec = { ...found, tool: input.tool, operation, args: input.args };
  const id = newId(deps.clock.now());
  await deps.db.transaction(async (sql) => {
    await findWorkspace(sql, caller, input.workspace, 'share');
    await insertTest(sql, { id, tenant: caller.tenant, workspaceId: workspace.id, spec });
    await audit(sql, caller, 'tool.test', input.tool, { workspace: input.workspace, operation });
  });
  const idle = new AbortController();
  const deadline = startDeadline(WAIT_MS, AbortSignal.any([input.signal, idle.signal]));
  const idleTimer = setTimeout(() => void abortIdle(deps.db, id, idle), TAKEN_UP_MS);
  try {
    await deps.workflows.testTool(id, deadline.signal);
    return await readAnswer(deps.db, id);
  } finally {
    clearTimeout(idleTimer);
    deadline.end();
    await deps.db.prisma.toolTest.deleteMany({ where: { id } }).catch(() => undefined);
  }
}

/** Fails early when no worker takes the test, instead of waiting for its whole time limit. */
async function abortIdle(db: Db, id: string, idle: AbortController): Promise<void> {
  const started = await db.prisma.toolTest
    .findFirst({ select: { id: true }, where: { id, startedAt: { not: null } } })
    .catch(() => null);
  if (!started) idle.abort();
}

interface NewTest {
  readonly id: string;
  readonly tenant: string;
  readonly workspaceId: string;
  readonly spec: ToolTestSpec;
}

/** Counts the workspace's tests under a lock of their own. Also deletes the rows that a crashed API process left. */
async function insertTest(sql: Sql, { id, tenant, workspaceId, spec }: NewTest): Promise<void> {
  await sql.query("SELECT pg_advisory_xact_lock(hashtextextended('tool-test/' || $1, 0))", [workspaceId]);
  await sweepRows(sql, 'tool_test', `created_at < now() - interval '10 minutes'`);
  const [row] = await sql.query<{ count: bigint }>('SELECT count(*) AS count FROM tool_test WHERE workspace_id = $1', [
    workspaceId,
  ]);
  if (Number(row?.count ?? 0n) >= MAX_AT_ONCE) {
    throw new Refusal('rate_limited', `${MAX_AT_ONCE} tools are being tested in this workspace; wait for one to end`, {
      retryAfter: 5,
    });
  }
  await sql.query('INSERT INTO tool_test (id, tenant_id, workspace_id, spec) VALUES ($1, $2, $3, $4)', [
    id,
    tenant,
    workspaceId,
    JSON.stringify(spec),
  ]);
}

async function readAnswer(sql: Sql, id: string): Promise<ToolTested> {
  const [row] = await sql.query<{ started: boolean; ms: number | null; result: ToolTestResult | null }>(
    `SELECT started_at IS NOT NULL AS started, result,
        (extract(epoch FROM now() - started_at) * 1000)::float8 AS ms FROM tool_test WHERE id = $1`,
    [id],
  );
  if (row?.result) {
    const { text, isError, status, truncated, durationMs } = row.result;
    return { ok: !isError, ...(status === null ? {} : { status }), result: text, durationMs, truncated };
  }
  if (!row?.started) {
    throw new Refusal('unavailable', 'no worker started the test: check that a worker is running, then try again', {
      retryAfter: 10,
    });
  }
  const result = 'the worker ended in the midst of the call, which may have partly run';
  return { ok: false, result, durationMs: Math.round(row.ms ?? 0), truncated: false };
}
