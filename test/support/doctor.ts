import { examine } from '../../src/observe/index.js';
import type { Db } from '../../src/platform/db/contract.js';
import { createBlobStore } from '../../src/platform/storage/index.js';
import { connectTemporal, createWorkflows } from '../../src/platform/temporal/index.js';
import { processesWith } from './host-processes.js';

export interface AuditInput {
  readonly db: Db;
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
 * Looks a completed run over with the product's doctor, and against the world: answers one sentence for each fault. Its
 * steps' effects are lines that Bash appended, one for each call, each naming itself: `echo <mark> >> files/<name>`.
 */
export async function audit(input: AuditInput): Promise<string[]> {
  const { db, runId } = input;
  const calls = await db.query<CallRow>(
    `SELECT c.run_id AS run, c.step, c.turn, c.call, c.kind, c.name, c.acts, c.state, c.starts, c.result->>'args' AS args, c.result->>'text' AS text,
      concat_ws('/', c.run_id, c.step, c.item, c.round, c.attempt, c.turn, CASE WHEN c.epoch > 0 AND c.kind = 'model' THEN 'e' || c.epoch END,
        CASE WHEN c.call < 0 THEN 'summary' END) AS key
      FROM call c JOIN run r ON r.id = c.run_id WHERE r.root_id = $1`,
    [runId],
  );
  const parts = await Promise.all([
    ...ROW_FAULTS.map(async ({ says, query }) => {
      const rows = await db.query<{ of: string }>(query, [runId]);
      return rows.map(({ of }) => `${says}: ${of}`);
    }),
    productFindings(input),
    lateProcesses(input),
    providerFaults(input, calls),
    effectFaults(input, calls),
  ]);
  return parts.flat();
}

/** What holds for these runs beyond the product's own audits. Queries answer a row for each fault; $1 is the root run. */
const ROW_FAULTS = [
  {
    says: 'a run did not complete',
    query: `SELECT concat_ws(' ', id, status, error) AS of FROM run WHERE root_id = $1 AND status <> 'completed'`,
  },
  {
    says: 'the outbox or the register of sandboxes still names the run',
    query: `SELECT concat_ws(' ', r.id, x.what) AS of FROM run r JOIN (
        SELECT run_id, 'outbox ' || kind AS what FROM outbox
        UNION ALL SELECT run_id, 'sandbox ' || pid FROM sandbox_process) x ON x.run_id = r.id WHERE r.root_id = $1`,
  },
  {
    says: 'a step did not start once and end once a round',
    query: `SELECT concat_ws(' ', s.run_id, s.id, s.round) AS of FROM step s JOIN run r ON r.id = s.run_id
        LEFT JOIN run_event e ON e.run_id = s.run_id AND e.data->>'step' = s.id AND (e.data->>'round')::int = s.round
          AND coalesce((e.data->>'item')::int, 0) = s.item
      WHERE r.root_id = $1 AND s.status = 'completed' AND NOT s.copied GROUP BY s.run_id, s.id, s.item, s.round
      HAVING count(*) FILTER (WHERE e.type = 'step.started') <> 1 OR count(*) FILTER (WHERE e.type = 'step.completed') <> 1`,
  },
  {
    says: 'the interruptions that were told are not those of the journal',
    query: `SELECT concat_ws(' ', r.id, x.rows, x.events) AS of FROM run r CROSS JOIN LATERAL (SELECT
        (SELECT count(*) FROM call c WHERE c.run_id = r.id AND c.kind = 'tool' AND c.state = 'interrupted') AS rows,
        (SELECT count(*) FROM run_event e WHERE e.run_id = r.id AND e.type = 'tool.interrupted') AS events) x
      WHERE r.root_id = $1 AND x.rows <> x.events`,
  },
  {
    says: 'a model call that was cut off is not told as estimated usage, each time',
    query: `SELECT concat_ws(' ', r.id, x.cut, x.told) AS of FROM run r CROSS JOIN LATERAL (SELECT
        -- One that the end of its run cut keeps what it had set aside; without any there is nothing to book.
        (SELECT coalesce(sum(starts - 1 + (state = 'interrupted' AND (result->>'error' ~ '\\mcut\\M'
            OR (result->>'error' IS NULL AND (result->>'reserve')::bigint > 0)))::int), 0)
          FROM call WHERE run_id = r.id AND kind = 'model') AS cut,
        (SELECT count(*) FROM usage WHERE run_id = r.id AND estimated) AS told) x
      WHERE r.root_id = $1 AND x.cut <> x.told`,
  },
] as const;

/** The product's own doctor on this run. */
async function productFindings(input: AuditInput): Promise<string[]> {
  return findingsOf(input, input.runId);
}

/** What the product's doctor finds wrong with that run and what is under it, or with the whole installation. */
export async function findingsOf(
  { db, dataDir, temporal }: Pick<AuditInput, 'db' | 'dataDir' | 'temporal'>,
  root: string | null,
): Promise<string[]> {
  const connection = await connectTemporal({ address: temporal, tls: null });
  const workflows = createWorkflows({ connection, namespace: 'signalbox', taskQueue: 'signalbox' });
  try {
    const blobs = createBlobStore({ dataDir, s3: null });
    const findings = await examine({ deps: { db, workflows, blobs, config: { dataDir }, keys: null }, root });
    return findings.map(({ says }) => says);
  } finally {
    await workflows.close();
  }
}

async function lateProcesses({ dataDir, runId }: AuditInput): Promise<string[]> {
  return processesWith(`${dataDir}/scratch/${runId}`).map((pid) => `a program of the run is alive: ${pid}`);
}

/**
 * A call reaches the provider once for each time that its row says it was started, at most; and once at least when it was
 * answered: one that a timeout cuts off may not have left yet.
 */
async function providerFaults({ calls: seen, db, runId }: AuditInput, calls: readonly CallRow[]): Promise<string[]> {
  const models = calls.filter((call) => call.kind === 'model');
  const known = new Set(models.map((call) => call.key));
  const runs = await db.query<{ id: string }>('SELECT id FROM run WHERE root_id = $1', [runId]);
  const strangers = [...seen.keys()].filter(
    (key) => runs.some(({ id }) => key.startsWith(`${id}/`)) && !known.has(key),
  );
  return [
    ...strangers.map((key) => `the provider was asked ${key}, which the journal does not know`),
    ...models
      .filter(({ key, starts, state }) => {
        const asked = seen.get(key) ?? 0;
        return asked > starts || (asked < 1 && state === 'finished');
      })
      .map(({ key, starts }) => `the provider was asked ${key} ${seen.get(key) ?? 0} times for ${starts} starts`),
  ];
}

const APPEND = /echo (\S+) >> files\/([\w.-]+)/;

/** Effects that were recorded as finished happened exactly once; those that were cut off once at most. */
async function effectFaults({ db, dataDir, runId }: AuditInput, calls: readonly CallRow[]): Promise<string[]> {
  const blobs = createBlobStore({ dataDir, s3: null });
  const files = await db.query<{ path: string; sha: string }>(
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
