import { Client, Connection } from '@temporalio/client';
import type { Sql } from '../../src/db/contract.js';
import { createBlobStore } from '../../src/storage/index.js';
import { processesWith } from './host-processes.js';

export interface AuditInput {
  readonly sql: Sql;
  readonly dataDir: string;
  readonly temporal: string;
  /** A run without a parent; its child runs are audited with it. */
  readonly runId: string;
  /** How often each idempotency key reached the provider. */
  readonly calls: ReadonlyMap<string, number>;
}

interface CallRow {
  readonly run: string;
  readonly step: string;
  readonly turn: number;
  readonly call: number;
  readonly kind: 'model' | 'tool';
  readonly name: string;
  readonly acts: boolean;
  readonly state: string;
  readonly starts: number;
  readonly args: string | null;
  readonly text: string | null;
  readonly key: string;
}

/**
 * Looks a completed run over, rows against rows and rows against the world: answers one sentence for each fault. Its
 * steps' effects are lines that Bash appended, one for each call, each naming itself: `echo <mark> >> files/<name>`.
 */
export async function audit(input: AuditInput): Promise<string[]> {
  const { sql, runId } = input;
  const calls = await sql.query<CallRow>(
    `SELECT c.run_id AS run, c.step, c.turn, c.call, c.kind, c.name, c.acts, c.state, c.starts, c.result->>'args' AS args, c.result->>'text' AS text,
      concat_ws('/', c.run_id, c.step, c.item, c.round, c.attempt, c.turn, CASE WHEN c.epoch > 0 AND c.kind = 'model' THEN 'e' || c.epoch END,
        CASE WHEN c.call < 0 THEN 'summary' END) AS key
      FROM call c JOIN run r ON r.id = c.run_id WHERE r.root_id = $1`,
    [runId],
  );
  const parts = await Promise.all([
    ...ROW_FAULTS.map(async ({ says, query }) => {
      const rows = await sql.query<{ of: string }>(query, [runId]);
      return rows.map(({ of }) => `${says}: ${of}`);
    }),
    openWorkflows(input),
    lateProcesses(input),
    providerFaults(input, calls),
    effectFaults(input, calls),
  ]);
  return parts.flat();
}

/** Queries that answer a row for each fault. $1 is the root run. */
const ROW_FAULTS = [
  {
    says: 'a run did not complete',
    query: `SELECT concat_ws(' ', id, status, error) AS of FROM run WHERE root_id = $1 AND status <> 'completed'`,
  },
  {
    says: 'money is still set aside, or a gate still counted',
    query: `SELECT concat_ws(' ', id, reserved_nano, gates_open) AS of FROM run
      WHERE root_id = $1 AND (reserved_nano <> 0 OR gates_open <> 0)`,
  },
  {
    says: 'what a run spent is not the sum of its usage and its children',
    query: `SELECT concat_ws(' ', r.id, r.spent_nano) AS of FROM run r WHERE r.root_id = $1 AND r.spent_nano <>
      (SELECT coalesce(sum(nano), 0) FROM usage u WHERE u.run_id = r.id) +
      (SELECT coalesce(sum(spent_nano), 0) FROM run c WHERE c.parent_id = r.id)`,
  },
  {
    says: 'a lane, a step or a call is open',
    query: `SELECT concat_ws(' ', r.id, x.what) AS of FROM run r JOIN (
        SELECT run_id, 'lane ' || lane || ' ' || state AS what FROM lane WHERE state NOT IN ('done', 'failed')
        UNION ALL SELECT run_id, 'step ' || id || ' ' || status FROM step WHERE status IN ('running', 'waiting')
        UNION ALL SELECT run_id, 'call ' || step || ' ' || name FROM call WHERE state = 'started'
        UNION ALL SELECT run_id, 'park ' || id FROM park WHERE decided_at IS NULL) x ON x.run_id = r.id WHERE r.root_id = $1`,
  },
  {
    says: 'the outbox or the register of sandboxes still names the run',
    query: `SELECT concat_ws(' ', r.id, x.what) AS of FROM run r JOIN (
        SELECT run_id, 'outbox ' || kind AS what FROM outbox
        UNION ALL SELECT run_id, 'sandbox ' || pid FROM sandbox_process) x ON x.run_id = r.id WHERE r.root_id = $1`,
  },
  {
    says: 'the events have a gap, or do not end at last_seq',
    query: `SELECT concat_ws(' ', r.id, r.last_seq, count(e.seq)) AS of FROM run r LEFT JOIN run_event e ON e.run_id = r.id
      WHERE r.root_id = $1 GROUP BY r.id HAVING count(e.seq) <> r.last_seq OR max(e.seq) <> r.last_seq OR min(e.seq) <> 1`,
  },
  {
    says: 'a run does not end with exactly one end, its last event',
    query: `SELECT r.id AS of FROM run r JOIN run_event e ON e.run_id = r.id
      WHERE r.root_id = $1 AND e.type IN ('run.completed', 'run.failed', 'run.stopped')
      GROUP BY r.id, r.last_seq HAVING count(*) <> 1 OR max(e.seq) <> r.last_seq`,
  },
  {
    says: 'a park was not decided exactly once',
    query: `SELECT p.id AS of FROM park p JOIN run r ON r.id = p.run_id LEFT JOIN run_event e ON e.run_id = p.run_id
        AND e.data->>'park' = p.id AND e.type IN ('approval.decided', 'approval.timeout', 'event.received', 'event.timeout', 'timer.elapsed')
      WHERE r.root_id = $1 GROUP BY p.id HAVING count(e.seq) <> 1`,
  },
  {
    says: 'a step did not start once and end once a round',
    query: `SELECT concat_ws(' ', s.run_id, s.id, s.round) AS of FROM step s JOIN run r ON r.id = s.run_id
        LEFT JOIN run_event e ON e.run_id = s.run_id AND e.data->>'step' = s.id AND (e.data->>'round')::int = s.round
      WHERE r.root_id = $1 AND s.status = 'completed' GROUP BY s.run_id, s.id, s.round
      HAVING count(*) FILTER (WHERE e.type = 'step.started') <> 1 OR count(*) FILTER (WHERE e.type = 'step.completed') <> 1`,
  },
  {
    says: 'the ends of calls that were told are not those of the journal',
    query: `SELECT concat_ws(' ', r.id, x.type, x.rows, x.events) AS of FROM run r CROSS JOIN LATERAL (
        SELECT k.type, (SELECT count(*) FROM call c WHERE c.run_id = r.id AND c.kind = k.kind AND c.state = k.state) AS rows,
          (SELECT count(*) FROM run_event e WHERE e.run_id = r.id AND e.type = k.type) AS events
        FROM (VALUES ('model.finished', 'model', 'finished'), ('tool.finished', 'tool', 'finished'),
          ('tool.interrupted', 'tool', 'interrupted')) k(type, kind, state)) x
      WHERE r.root_id = $1 AND x.rows <> x.events`,
  },
  {
    says: 'a model call that was cut off is not told as estimated usage, each time',
    query: `SELECT concat_ws(' ', r.id, x.cut, x.told) AS of FROM run r CROSS JOIN LATERAL (SELECT
        (SELECT coalesce(sum(starts - 1), 0) FROM call WHERE run_id = r.id AND kind = 'model') AS cut,
        (SELECT count(*) FROM usage WHERE run_id = r.id AND estimated) AS told) x
      WHERE r.root_id = $1 AND x.cut <> x.told`,
  },
  {
    says: 'a transcript has a gap',
    query: `SELECT concat_ws(' ', m.run_id, m.step) AS of FROM message m JOIN run r ON r.id = m.run_id WHERE r.root_id = $1
      GROUP BY m.run_id, m.step, m.item, m.round, m.attempt HAVING max(m.seq) + 1 <> count(*)`,
  },
] as const;

async function openWorkflows({ sql, runId, temporal }: AuditInput): Promise<string[]> {
  const runs = await sql.query<{ id: string }>('SELECT id FROM run WHERE root_id = $1', [runId]);
  const connection = await Connection.connect({ address: temporal });
  try {
    const client = new Client({ connection, namespace: 'signalbox' });
    const states = runs.map(async ({ id }) => ({ id, status: await statusOf(client, id) }));
    return (await Promise.all(states))
      .filter(({ status }) => status !== 'COMPLETED')
      .map(({ id, status }) => `the workflow of ${id} is ${status}`);
  } finally {
    await connection.close();
  }
}

/** The workflow ends a moment after its rows: its last task has still to be told. */
async function statusOf(client: Client, id: string): Promise<string> {
  const handle = client.workflow.getHandle(id);
  await Promise.race([handle.result().catch(() => undefined), new Promise((done) => setTimeout(done, 20_000).unref())]);
  return (await handle.describe()).status.name;
}

async function lateProcesses({ dataDir, runId }: AuditInput): Promise<string[]> {
  return processesWith(`${dataDir}/scratch/${runId}`).map((pid) => `a program of the run is alive: ${pid}`);
}

/** A call reaches the provider once for each time that its row says it was started, at most; and once at least. */
async function providerFaults({ calls: seen, sql, runId }: AuditInput, calls: readonly CallRow[]): Promise<string[]> {
  const models = calls.filter((call) => call.kind === 'model');
  const known = new Set(models.map((call) => call.key));
  const runs = await sql.query<{ id: string }>('SELECT id FROM run WHERE root_id = $1', [runId]);
  const strangers = [...seen.keys()].filter(
    (key) => runs.some(({ id }) => key.startsWith(`${id}/`)) && !known.has(key),
  );
  return [
    ...strangers.map((key) => `the provider was asked ${key}, which the journal does not know`),
    ...models
      .filter(({ key, starts }) => (seen.get(key) ?? 0) > starts || (seen.get(key) ?? 0) < 1)
      .map(({ key, starts }) => `the provider was asked ${key} ${seen.get(key) ?? 0} times for ${starts} starts`),
  ];
}

const APPEND = /echo (\S+) >> files\/([\w.-]+)/;

/** Effects that were recorded as finished happened exactly once; those that were cut off once at most. */
async function effectFaults({ sql, dataDir, runId }: AuditInput, calls: readonly CallRow[]): Promise<string[]> {
  const blobs = createBlobStore({ dataDir, s3: null });
  const files = await sql.query<{ path: string; sha: string }>(
    `SELECT path, sha FROM storage_entry s JOIN run r ON r.workspace_id = s.workspace_id
      WHERE r.id = $1 AND path LIKE 'files/%'`,
    [runId],
  );
  const counts = new Map<string, number>();
  for (const file of files) {
    const text = Buffer.from((await blobs.get(file.sha)) ?? []).toString('utf8');
    for (const line of text.split('\n').filter((each) => each !== '')) {
      const mark = `${file.path}:${line}`;
      counts.set(mark, (counts.get(mark) ?? 0) + 1);
    }
  }
  return calls.flatMap((call) => {
    const [, mark, name] = APPEND.exec(call.args ?? '') ?? [];
    if (call.name !== 'Bash' || mark === undefined) return [];
    const done = counts.get(`files/${name}:${mark}`) ?? 0;
    const fits = call.state === 'finished' ? done === 1 : done <= 1;
    return fits
      ? []
      : [`the effect ${mark} of a call that is ${call.state} happened ${done} times: ${call.run}, ${call.text}`];
  });
}
