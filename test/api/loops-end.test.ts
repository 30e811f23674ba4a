import { beforeAll, beforeEach, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { reconcile } from '../../src/engine/index.js';
import { correctMonths } from '../../src/engine/months/correct-months.js';
import { readMonthBudgets } from '../../src/engine/months/month-budgets.js';
import { reconcileEvals } from '../../src/evals/start-eval-loop.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { newId } from '../../src/shared/ids.js';
import { silentLog } from '../support/silent-log.js';
import { createWorkspaceApp, insertRun, type WorkspaceApp } from '../support/workspace-app.js';

/** A round of a loop over many rows ends between two rows when the process ends. */
let app: WorkspaceApp;
let workspace: string;
let stop: AbortController;
const described: string[] = [];
const cancelled: string[] = [];
let open: string[] = [];

beforeAll(async () => {
  const workflows: Partial<Workflows> = {
    async *openRuns() {
      for (const id of open) yield { id, startedAt: 0 };
    },
    // The process ends during the first call.
    describeRun: async (id) => {
      described.push(id);
      stop.abort();
      return 'missing';
    },
    cancelRun: async (id) => {
      cancelled.push(id);
      stop.abort();
    },
  };
  app = await createWorkspaceApp({ routes, deps: { workflows: workflows as Workflows } });
});

beforeEach(async () => {
  ({ id: workspace } = await app.workspace());
  stop = new AbortController();
  open = [];
  described.length = 0;
  cancelled.length = 0;
});

test('the reconciler asks for no further run, and starts none of a part of the missing ones', async () => {
  const runs: string[] = [];
  for (let n = 0; n < 3; n += 1) runs.push(await insertRun(app, workspace));
  const found = await reconcile(app.deps, { graceMs: 0, signal: stop.signal });
  expect([described.length, found.started]).toEqual([1, []]);
  expect(await app.deps.db.query('SELECT 1 FROM outbox WHERE run_id = ANY($1)', [runs])).toEqual([]);
  await app.deps.db.query(`UPDATE run SET status = 'completed', finished_at = now() WHERE id = ANY($1)`, [runs]);
});

test('the reconciler cancels no further workflow of an ended run', async () => {
  const finishedAt = new Date(Date.now() - 60_000);
  for (let n = 0; n < 3; n += 1) open.push(await insertRun(app, workspace, { status: 'completed', finishedAt }));
  const found = await reconcile(app.deps, { graceMs: 0, signal: stop.signal });
  expect(cancelled).toHaveLength(1);
  expect(found.cancelled).toEqual(cancelled);
});

test('no further month is corrected', async () => {
  const other = await app.workspace();
  const { db, clock } = app.deps;
  const keys = new Set<string>();
  for (const id of [workspace, other.id])
    for (const { key } of await readMonthBudgets(db, id, clock.now())) keys.add(key);
  expect(keys.size).toBeGreaterThan(1);
  await db.query(
    'INSERT INTO spent (key, nano) SELECT unnest($1::text[]), 7 ON CONFLICT (key) DO UPDATE SET nano = 7',
    [[...keys]],
  );
  const log = { ...silentLog, info: () => stop.abort() };
  const wrong = async () => db.query('SELECT key FROM spent WHERE key = ANY($1) AND nano = 7', [[...keys]]);
  await correctMonths({ db, clock, log }, stop.signal);
  expect(await wrong()).toHaveLength(keys.size - 1);
  await correctMonths(app.deps);
  expect(await wrong()).toEqual([]);
});

test('no further eval run is looked at', async () => {
  for (let n = 0; n < 3; n += 1)
    await app.deps.db.query(
      `INSERT INTO eval_run (id, tenant_id, workspace_id, eval, plan_id, revision, trigger, started_by, spec, created_at)
        VALUES ($1, $2, $3, 'e', 'p', 'r', '{}', '{}', '{}', now() - interval '1 hour')`,
      [newId(), app.tenant, workspace],
    );
  const found = await reconcileEvals(app.deps, 0, stop.signal);
  expect([described.length, found.started.length]).toEqual([1, 1]);
});
