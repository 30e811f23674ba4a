import { afterAll, expect, test } from 'vitest';
import { applyMigrations, createDb, type Db } from '../../src/platform/db/index.js';
import { diffToSchema } from '../../src/platform/db/write-migration.js';
import { createEngineApp } from '../support/create-engine-app.js';
import { decideGates } from '../support/drive-gates.js';
import { asFirstRelease } from '../support/first-schema.js';
import { flow, scripted } from '../support/flows.js';
import { freshDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';

const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

/** A database whose place is taken by another one, as an upgrade in place does. */
function replaceable(first: Db): { db: Db; replace(next: Db): void } {
  let current = first;
  const db = new Proxy(first, {
    get: (_target, name) => Reflect.get(current, name),
  });
  return {
    db,
    replace: (next) => {
      current = next;
    },
  };
}

const open = (url: string): Db => {
  const db = createDb({ url, ca: null, poolSize: 5, log: silentLog });
  ends.push(() => db.close());
  return db;
};

const FLOWS = {
  gate: '## One @worker\n\nA.\n\n## Gate\n\n- approve: human\n\nOK?\n\n## Two @worker\n\nB.',
  event: '## Ask @worker\n\n- wait: event\n\nAsk.\n\n## Two @worker\n\nB.',
  fork: '## Both\n\n### Left @worker\n\nL.\n\n### Right\n\n- approve: human\n\nR?\n\n## Two @worker\n\nB.',
  subflow: '## Call\n\n- subflow: gate\n\n## Two @worker\n\nB.',
};

test('rows of the first release’s schema are upgraded in place, and its parked runs go on over them', async () => {
  const now = await freshDatabase();
  ends.push(now.drop);
  const { db, replace } = replaceable(open(now.url));
  const app = await createEngineApp({ deps: { db } });
  const files = Object.entries(FLOWS).map(([name, text]) => [`flows/${name}.md`, flow(text)] as const);
  const workspace = await app.workspace({ ...scripted('- { text: done }\n'), ...Object.fromEntries(files) });
  const ids = await Promise.all(Object.keys(FLOWS).map((name) => app.start(workspace, name)));
  const parked = await Promise.all(ids.map((id) => app.until(workspace, id, (run) => run.waiting.length > 0)));
  const child = parked[3]?.waiting[0]?.runId ?? '';
  await app.until(workspace, child, (run) => run.waiting.length > 0);
  await app.stopWorker();

  const old = await asFirstRelease(now.url);
  ends.push(old.drop);
  expect(await diffToSchema(old.url)).not.toBe('');
  expect(await applyMigrations(old.url)).not.toContain('0001_init');
  expect(await diffToSchema(old.url)).toBe('');
  replace(open(old.url));
  await app.restartWorker({});

  const url = new URL(parked[1]?.waiting[0]?.releaseUrl ?? '');
  expect((await app.post(url.pathname + url.search, { n: 1 }, { as: null })).status).toBe(200);
  for (const id of [ids[0] ?? '', ids[2] ?? '', child]) await decideGates(app, { workspace, id }, () => 'approve');
  for (const id of [...ids, child]) {
    const run = await app.ended(workspace, id);
    expect([run.flow, run.status, run.error]).toEqual([run.flow, 'completed', null]);
  }
  expect((await app.run(workspace, ids[1] ?? '')).steps[0]?.eventPayload).toEqual({ n: 1 });
});
