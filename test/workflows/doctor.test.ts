import { expect, test } from 'vitest';
import { examine, reportOf } from '../../src/observe/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { flow, scripted } from '../support/flows.js';

const FILES = {
  ...scripted('- { calls: [{ tool: Write, args: { path: outputs/a.md, content: A } }] }\n- { text: done }\n'),
  'flows/g.md': flow('## One @worker\n\nGo.\n\n## Sign\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nGo on.'),
  'flows/t.md': flow('## Nap\n\n- wait: 1s\n\n## Call\n\n- subflow: inner\n\n## Two @worker\n\nGo on.'),
  'flows/e.md': flow('## Wait\n\n- wait: event\n\n## Two @worker\n\nGo on.'),
  'flows/inner.md': flow('## Inner @worker\n\nGo.'),
};

const look = (app: EngineApp, root: string | null = null) => examine({ deps: app.deps, root });

/** Runs of every kind of end, and some that wait. */
async function crowd(
  app: EngineApp,
): Promise<{ done: string; parked: string; event: string; stopped: string; parent: string }> {
  const workspace = await app.workspace(FILES);
  const [done, parked, event, stopped, parent] = await Promise.all(
    ['g', 'g', 'e', 'g', 't'].map((name) => app.start(workspace, name)),
  );
  const at = `/api/workspaces/${workspace}/runs`;
  for (const id of [done, parked, stopped])
    await app.until(workspace, id ?? '', (run) => run.status === 'awaiting-approval');
  await app.until(workspace, event ?? '', (run) => run.waiting.length > 0);
  await app.post(`${at}/${done}/approve`, { decision: 'approve' });
  await app.post(`${at}/${stopped}/stop`, {});
  for (const id of [done, stopped, parent]) await app.ended(workspace, id ?? '');
  return { done, parked, event, stopped, parent } as Record<'done' | 'parked' | 'event' | 'stopped' | 'parent', string>;
}

test('security 1-5, 8: of runs that ended, were stopped, or wait, and of an installation with all of them, the doctor finds nothing wrong', async () => {
  const app = await createEngineApp();
  const runs = await crowd(app);
  expect(await look(app)).toEqual([]);
  for (const id of Object.values(runs)) expect(await look(app, id)).toEqual([]);
  expect(reportOf([])).toContain('Nothing is wrong');
});

/** A row that was changed behind the engine's back, and what the doctor must say of it. `$1` is the run. */
const BREAKS = [
  ['done', `UPDATE run SET last_seq = last_seq + 1 WHERE id = $1`, /numbers its events up to \d+, and has \d+/],
  ['done', `UPDATE run SET reserved_nano = 7 WHERE id = $1`, /still sets 7 nano-dollars aside/],
  ['done', `UPDATE run SET spent_nano = spent_nano + 5 WHERE id = $1`, /spent \d+ nano-dollars, and used/],
  [
    'done',
    `INSERT INTO hold (key, run_id, lane, nano) VALUES ('run/x', $1, 'main', 7)`,
    /holds 7 nano-dollars of run\/x, and has no model call in flight/,
  ],
  ['done', `INSERT INTO spent (key, held) VALUES ('run/' || $1, 7)`, /counts 7 nano-dollars held of run/],
  ['done', `INSERT INTO spent (key, nano) VALUES ('run/' || $1, 7777)`, /counts 7777 nano-dollars spent of run/],
  [
    'done',
    `UPDATE call SET state = 'started' WHERE run_id = $1 AND kind = 'model'`,
    /its call of \S+ in step \S+ is open/,
  ],
  ['done', `UPDATE step SET status = 'waiting' WHERE run_id = $1 AND id = 'two'`, /its step two is waiting/],
  ['done', `DELETE FROM run_event WHERE run_id = $1 AND type = 'run.completed'`, /has 0 end events/],
  [
    'done',
    `DELETE FROM message WHERE run_id = $1 AND step = 'one' AND seq = 1`,
    /has a gap in its transcript of step one/,
  ],
  ['parked', `UPDATE run SET gates_open = 0 WHERE id = $1`, /counts 0 open gates, and has 1/],
  ['parked', `UPDATE run SET status = 'completed' WHERE id = $1`, /is completed, and has no end/],
  ['stopped', `UPDATE park SET decided_at = NULL, decision = NULL WHERE run_id = $1`, /its park \S+ is open/],
  [
    'parent',
    `INSERT INTO run_event (run_id, seq, type, data) SELECT run_id, 900, type, data FROM run_event WHERE run_id = $1 AND type = 'timer.elapsed'`,
    /decided its park \S+ 2 times/,
  ],
  [
    'parent',
    `INSERT INTO outbox (run_id, kind, created_at) VALUES ($1, 'approval', now() - interval '2 minutes')`,
    /to send "approval" to Temporal/,
  ],
  [
    'parent',
    `INSERT INTO outbox (run_id, kind, created_at) SELECT workspace_id, 'apply-push', now() - interval '2 minutes' FROM run WHERE id = $1`,
    /The message "apply-push" of the push that waits in workspace \S+ has waited since/,
  ],
  ['parent', `INSERT INTO outbox (run_id, kind) SELECT 'gone-' || $1, 'approval'`, /is gone, but has 1 rows in outbox/],
  [
    'parent',
    `WITH w AS (INSERT INTO workspace (id, tenant_id, name) SELECT 'quiet', tenant_id, 'quiet' FROM run WHERE id = $1)
      INSERT INTO pending_push (workspace_id, oid, caller, reason, at)
      SELECT 'quiet', repeat('a', 40), '{}', 'waits', now() - interval '1 hour'`,
    /The push a{40} of workspace quiet \(quiet\) waits since .*, and no run is live/,
  ],
  [
    'event',
    `UPDATE run SET finished_at = now(), status = 'completed' WHERE id = $1`,
    /is not live, but its workflow is open/,
  ],
  ['done', `UPDATE run SET finished_at = NULL, status = 'running' WHERE id = $1`, /is live, but has no open workflow/],
  [
    'event',
    `INSERT INTO sandbox_process (id, run_id, lane, worker_id, host, pid, ticks, dir) VALUES ('x', $1, 'main', 'w@1.1', 'elsewhere', 9, 1, '/')`,
    /program 9 is registered for it/,
  ],
  [
    'done',
    `INSERT INTO slot (run_id, workspace_id, key, most, held) SELECT $1, workspace_id, 'k', 1, true FROM run WHERE id = $1`,
    /holds a slot of its flow/,
  ],
  [
    'done',
    `INSERT INTO slot_lane (run_id, lane, workspace_id, slots, state) SELECT $1, 'main', workspace_id, ARRAY[$1], 'waiting' FROM run WHERE id = $1`,
    /waits for a slot/,
  ],
  [
    'parked',
    `INSERT INTO slot (run_id, workspace_id, key, most, held) SELECT id, workspace_id, 'k', 1, true FROM run WHERE $1 <> '' AND finished_at IS NULL`,
    /runs hold a slot of k, which has 1/,
  ],
  [
    'parent',
    `INSERT INTO secret (id, tenant_id, workspace_id, name, shape, key_id, wrapped_key, sealed)
      SELECT 'x', tenant_id, 'gone', 'T', 'value', 'k1', '', '' FROM run WHERE id = $1`,
    /the secret T lies in the vault of a workspace that is gone/,
  ],
  [
    'parent',
    `INSERT INTO secret (id, tenant_id, workspace_id, name, shape, key_id, wrapped_key, sealed)
      SELECT 'x', tenant_id, workspace_id, 'T', 'value', 'lost', '', '' FROM run WHERE id = $1`,
    /the secret T is wrapped under the install key "lost", which is not there/,
  ],
  ['parent', `INSERT INTO lane (run_id, lane) SELECT 'gone-' || $1, 'main'`, /is gone, but has 1 rows in lane/],
  ['parent', `UPDATE tenant SET owner_id = 'nobody-' || $1`, /names an owner who is not one of its members/],
  ['parent', `UPDATE blob SET content = 'x' WHERE $1 <> '' AND sha = (SELECT min(sha) FROM blob)`, /is not its own/],
  ['parent', `DELETE FROM blob WHERE $1 <> '' AND sha = (SELECT max(sha) FROM blob)`, /has lost the content of/],
  ['parent', `UPDATE revision SET tree_hash = repeat('0', 40) WHERE $1 <> ''`, /does not re-hash/],
  [
    'parent',
    `INSERT INTO run_file (run_id, agent, path, step, sha, size) VALUES ($1, 'worker', 'p', 's', repeat('a', 64), 1)`,
    /has lost its file p/,
  ],
  [
    'done',
    `INSERT INTO burst (id, workspace_id, flow, key, kind, input, trigger, due_at) SELECT 'b', workspace_id, flow, 'k', 'webhook', '{}', '{}',
      now() - interval '2 minutes' FROM run WHERE id = $1`,
    /The burst k of flow g \(workspace \S+\) was due at .*, and its run is not begun/,
  ],
  [
    'done',
    `INSERT INTO delivery (id, workspace_id, flow, kind, outcome, burst_id) SELECT 'd', workspace_id, flow, 'webhook', 'debounced', 'gone' FROM run WHERE id = $1`,
    /The delivery d of flow g \(workspace \S+\) waits for a burst that is gone/,
  ],
  [
    'done',
    `INSERT INTO raised_event (workspace_id, kind, body, at) SELECT workspace_id, 'run.completed', '{}', now() - interval '2 minutes' FROM run WHERE id = $1`,
    /1 events of workspace \S+ wait since .* to start who listens/,
  ],
  [
    'done',
    `INSERT INTO delivery_key (workspace_id, flow, key, answer) SELECT workspace_id, flow, 'k', '{"ok":true,"runId":"lost"}' FROM run WHERE id = $1`,
    /was answered with the run lost, which is not there/,
  ],
  [
    'done',
    `UPDATE run SET trigger = '{"kind":"webhook","deliveryId":"m1"}' WHERE $1 <> '' AND flow = 'g'`,
    /was started by the delivery m1, as \S+ was/,
  ],
  [
    'done',
    `INSERT INTO notice (tenant_id, event, data, at) SELECT tenant_id, 'run.failed', '{}', now() - interval '2 minutes' FROM run WHERE id = $1`,
    /1 notices of "run.failed" have waited since .* to be sent/,
  ],
  [
    'done',
    `INSERT INTO notification (id, tenant_id, event, channel, target, content, due_at)
      SELECT 'n', tenant_id, 'run.failed', 'mail', 'a@x.test', '{}', now() - interval '2 minutes' FROM run WHERE id = $1`,
    /The notification n \(run.failed\) was due at .*, and is not tried/,
  ],
  [
    'done',
    `INSERT INTO schedule (workspace_id, flow, tenant_id, cron, timezone, catch_up, overlap, enabled, settled_until)
      SELECT workspace_id, flow, tenant_id, '* * * * *', 'UTC', 'last', 'skip', true, now() FROM run WHERE id = $1`,
    /Flow g .* has a row of a schedule that its live revision does not ask for/,
  ],
  [
    'done',
    `INSERT INTO schedule (workspace_id, flow, tenant_id, cron, timezone, catch_up, overlap, enabled, settled_until)
      SELECT workspace_id, flow, tenant_id, '* * * * *', 'UTC', 'last', 'skip', true, now() - interval '1 hour' FROM run WHERE id = $1`,
    /Flow g .* was due at \S+, and has no outcome/,
  ],
  [
    'done',
    `INSERT INTO firing (workspace_id, flow, scheduled_for, outcome, at)
      SELECT workspace_id, 'inner', now(), 'waiting', now() - interval '2 minutes' FROM run WHERE id = $1`,
    /Flow inner .* has a time, .*, that waits for a run before it, and none is at work/,
  ],
  [
    'done',
    `UPDATE run SET trigger = '{"kind":"schedule","scheduled_for":"then"}', started_by = '{"kind":"clock"}' WHERE $1 <> '' AND flow = 'g'`,
    /Flow g .* was started 3 times by its schedule for then/,
  ],
] as const;

/** What is on its way, and no fault. `$1` is a run that waits. */
const SOUND = [
  `INSERT INTO outbox (run_id, kind) SELECT workspace_id, 'apply-push' FROM run WHERE id = $1`,
  `WITH p AS (INSERT INTO pending_push (workspace_id, oid, caller, reason, at)
      SELECT workspace_id, repeat('a', 40), '{}', 'waits', now() - interval '1 hour' FROM run WHERE id = $1 RETURNING workspace_id)
    INSERT INTO outbox (run_id, kind) SELECT workspace_id, 'apply-push' FROM p`,
  `INSERT INTO outbox (run_id, kind) SELECT 'eval-of-' || $1, 'start-eval'`,
  `INSERT INTO outbox (run_id, kind) SELECT 'deleted-' || $1, 'cancel'`,
];

/** Seen from inside the transaction, which then is undone: the next change meets a sound installation. */
async function lookAfter(app: EngineApp, statement: string, run: string) {
  let findings: Awaited<ReturnType<typeof look>> = [];
  const undo = new Error('undo');
  await app.deps.db
    .transaction(async (sql) => {
      const changed = await sql.query(`${statement} RETURNING 1`, [run]);
      expect(changed.length, statement).toBeGreaterThan(0);
      findings = await examine({ deps: { ...app.deps, db: { ...app.deps.db, query: sql.query } }, root: null }, 0);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return findings;
}

test('security 1-5, 8: each promise that was broken behind the engine’s back is told with its run, a sentence and what to do, and what is on its way is no fault', async () => {
  const app = await createEngineApp();
  const runs = await crowd(app);
  // A stop that a worker has not heard of yet is none of the faults that are made here.
  await expect.poll(() => examine({ deps: app.deps, root: null }, 0)).toEqual([]);
  await app.stopWorker();
  for (const [which, statement, says] of BREAKS) {
    const findings = await lookAfter(app, statement, runs[which]);
    const meant = findings.filter((finding) => says.test(finding.says));
    expect(
      meant.map(({ remedy }) => remedy.length > 20),
      `${statement}\n${reportOf(findings)}`,
    ).toContain(true);
  }
  for (const statement of SOUND)
    expect(reportOf(await lookAfter(app, statement, runs.parked)), statement).toBe(reportOf([]));
  expect(await look(app)).toEqual([]);
});
