import { beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { expandNotices } from '../../src/notify/expand.js';
import { DatabaseUnavailable, type DueRow, forEachDue } from '../../src/platform/db/index.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { sweepBursts } from '../../src/triggers/bursts.js';
import { sweepEvents } from '../../src/triggers/sweep-events.js';
import { hooked } from '../support/hooks.js';
import { recordingLog } from '../support/recording-log.js';
import { AGENT, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

/** As many as one round takes up. */
const MANY = 100;
let app: WorkspaceApp;
let workspace: string;
const lines: object[] = [];

beforeAll(async () => {
  const workflows = new Proxy({} as Workflows, { get: () => () => Promise.reject(new Error('Temporal is away')) });
  app = await createWorkspaceApp({ routes, deps: { workflows, log: recordingLog(lines) } });
  const files = { 'agents/writer.md': AGENT, 'flows/hooked.md': hooked('trigger: [webhook, event]\nevent: push') };
  ({ id: workspace } = await app.workspace(files));
  // What removes a poisoned row fails, as for a row that a fault of ours cannot read.
  await app.deps.db.query(`CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF to_jsonb(OLD)::text LIKE '%poison%' THEN RAISE EXCEPTION 'poison'; END IF;
      RETURN OLD;
    END $$`);
  for (const table of ['raised_event', 'burst', 'notice'])
    await app.deps.db.query(
      `CREATE TRIGGER refuse_poison BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_poison()`,
    );
});

const ROWS = {
  raised_event: {
    insert: `INSERT INTO raised_event (workspace_id, kind, body, chain)
      SELECT $1, 'push', jsonb_build_object('event', 'push', 'name', $2::text), '{}' FROM generate_series(1, $3::int)`,
    since: 'at',
    round: () => sweepEvents(app.deps),
  },
  burst: {
    insert: `INSERT INTO burst (id, workspace_id, flow, key, kind, input, trigger, due_at)
      SELECT $2 || n, $1, 'hooked', $2 || n, 'webhook', '{}', '{}', now() - CASE $2 WHEN 'whole' THEN 1 ELSE 2 END * interval '1 s'
      FROM generate_series(1, $3::int) n`,
    since: 'opened_at',
    round: () => sweepBursts(app.deps),
  },
  notice: {
    insert: `INSERT INTO notice (tenant_id, event, data)
      SELECT tenant_id, 'connection.expired', jsonb_build_object('secret', $2::text, 'reason', null)
      FROM workspace, generate_series(1, $3::int) WHERE id = $1`,
    since: 'at',
    round: () => expandNotices(app.deps),
  },
} as const;

describe.each(Object.entries(ROWS))('%s', (table, { insert, since, round }) => {
  test('rows that cannot be worked off keep no later one from its turn, are not lost, and are retried ever less often', async () => {
    const { db } = app.deps;
    const open = (name: string) =>
      db.query<{ tries: number; isPutOff: boolean }>(
        `SELECT tries, due_at > ${since} + interval '0.5 s' AS "isPutOff" FROM ${table} t
          WHERE to_jsonb(t)::text LIKE '%' || $1 || '%' ORDER BY id`,
        [name],
      );
    await db.query(insert, [workspace, 'poison', MANY]);
    await db.query(insert, [workspace, 'whole', 1]);
    // On a slow machine the first ones are due again before the last ones were tried.
    for (let rounds = 0; rounds < 20 && (await open('whole')).length > 0; rounds += 1) await round().catch(() => 0);
    expect(await open('whole')).toEqual([]);
    const poison = await open('poison');
    expect(poison).toHaveLength(MANY);
    expect(poison.filter(({ tries, isPutOff }) => tries === 0 || !isPutOff)).toEqual([]);
    await db.query(`UPDATE ${table} SET due_at = now() - interval '1 s'`);
    lines.length = 0;
    expect(await round()).toBe(0);
    const tries = (poison[0]?.tries ?? 0) + 1;
    expect(await open('poison')).toContainEqual({ tries, isPutOff: true });
    const err = expect.objectContaining({ message: 'poison' });
    expect(lines).toContainEqual(expect.objectContaining({ table, id: expect.any(String), tries, err }));
  });
});

describe('a batch of due rows', () => {
  const rows = [1, 2, 3].map((id) => ({ id: BigInt(id), tries: 0 }));
  const stage = (fail: (id: bigint) => void) => {
    const seen: bigint[] = [];
    const work = async ({ id }: DueRow) => {
      seen.push(BigInt(id));
      fail(BigInt(id));
    };
    return { seen, work };
  };

  test('counts the rows that were worked off, beside one that fails', async () => {
    const { seen, work } = stage((id) => {
      if (id === 2n) throw new Error('poison');
    });
    expect(await forEachDue(app.deps, 'notice', { rows, work })).toBe(2);
    expect(seen).toEqual([1n, 2n, 3n]);
  });

  test('ends at the first row for which the database is away, and blames no row', async () => {
    lines.length = 0;
    const { seen, work } = stage((id) => {
      if (id === 2n) throw new DatabaseUnavailable(new Error('away'));
    });
    await expect(forEachDue(app.deps, 'notice', { rows, work })).rejects.toBeInstanceOf(DatabaseUnavailable);
    expect([seen, lines]).toEqual([[1n, 2n], []]);
  });

  test('goes on behind a row that cannot even be postponed', async () => {
    lines.length = 0;
    const { seen, work } = stage((id) => {
      if (id === 2n) throw new Error('poison');
    });
    // The table does not exist, so every attempt to postpone fails.
    expect(await forEachDue(app.deps, 'no_such_table', { rows, work })).toBe(2);
    expect(seen).toEqual([1n, 2n, 3n]);
    expect(lines).toContainEqual(expect.objectContaining({ message: 'failed to postpone a row of a queue', id: '2' }));
  });

  test('ends between two rows when the process ends', async () => {
    const stop = new AbortController();
    const { seen, work } = stage(() => stop.abort());
    expect(await forEachDue(app.deps, 'notice', { rows, work, signal: stop.signal })).toBe(1);
    expect(seen).toEqual([1n]);
  });
});
