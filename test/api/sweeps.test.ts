import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { sweepDeliveries } from '../../src/triggers/deliveries.js';
import { hooked } from '../support/hooks.js';
import { AGENT, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

let app: WorkspaceApp;
beforeAll(async () => {
  app = await createWorkspaceApp({ routes });
});

test('forty sweeps at once, beside one who holds rows, wait for nobody and leave what is held to the next', async () => {
  const hook = await app.workspace({ 'agents/writer.md': AGENT, 'flows/hooked.md': hooked('trigger: webhook') });
  const { db } = app.deps;
  await db.query(
    `WITH w AS (SELECT id FROM workspace WHERE name = $1), k AS (INSERT INTO delivery_key (workspace_id, flow, key, answer, at)
        SELECT w.id, 'hooked', n::text, '{}', now() - interval '2 days' FROM w, generate_series(1, 300) n)
      INSERT INTO delivery (id, workspace_id, flow, kind, outcome)
      SELECT lpad(n::text, 26, 'a'), w.id, 'hooked', 'webhook', 'filtered' FROM w, generate_series(1, 400) n`,
    [hook.name],
  );
  const left = async () => {
    const [row] = await db.query<{ keys: number; rows: number }>(
      `SELECT (SELECT count(*)::int FROM delivery_key k WHERE k.workspace_id = w.id) AS keys,
          (SELECT count(*)::int FROM delivery d WHERE d.workspace_id = w.id) AS rows FROM workspace w WHERE w.name = $1`,
      [hook.name],
    );
    return [row?.keys, row?.rows];
  };
  await db.transaction(async (sql) => {
    const of = 'workspace_id = (SELECT id FROM workspace WHERE name = $1)';
    await sql.query(`SELECT 1 FROM delivery_key WHERE ${of} AND key IN ('7', '8') FOR UPDATE`, [hook.name]);
    await sql.query(`SELECT 1 FROM delivery WHERE ${of} ORDER BY id LIMIT 3 FOR UPDATE`, [hook.name]);
    await Promise.all(Array.from({ length: 40 }, () => sweepDeliveries(db)));
    expect(await left()).toEqual([2, 103]);
  });
  await sweepDeliveries(db);
  expect(await left()).toEqual([0, 100]);
});
