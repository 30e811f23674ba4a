import { expect, test } from 'vitest';
import { createAccessStage, startRun } from '../support/access-stage.js';
import { createKey, createTenant, createTestApp } from '../support/create-test-app.js';
import { directChecker } from '../support/direct-checker.js';

async function stage() {
  const app = await createTestApp({ deps: { checker: directChecker } });
  const text = async () => {
    const [file] = await app.deps.db.query<{ content: Uint8Array }>(
      `SELECT b.content FROM library l JOIN revision r ON r.workspace_id = 'library.' || l.tenant_id AND r.seq = l.live_seq
        JOIN blob b ON b.workspace_id = r.workspace_id AND b.sha = r.manifest->'AGENTS.md'->>'sha' WHERE l.tenant_id = $1`,
      [app.tenant],
    );
    return file ? Buffer.from(file.content).toString('utf8') : null;
  };
  const write = (content: string) =>
    app.deps.db.query(
      `INSERT INTO library_file (tenant_id, path, content) VALUES ($1, 'AGENTS.md', $2)
       ON CONFLICT (tenant_id, path) DO UPDATE SET content = excluded.content`,
      [app.tenant, Buffer.from(content)],
    );
  const columns = async () =>
    (
      await app.deps.db.query<object>(
        'SELECT timezone, budget_nano AS "budgetNano", notify FROM tenant WHERE id = $1',
        [app.tenant],
      )
    )[0];
  const patch = async (body: unknown, init = {}) => {
    const response = await app.patch('/api/account', body, init);
    return [response.status, await response.json()] as const;
  };
  return { app, text, write, columns, patch };
}

test('an account begins without defaults, and PATCH sets those that are sent', async () => {
  const { app, columns, patch } = await stage();
  const none = { account: app.tenant, name: app.tenant, timezone: null, budget: null, notify: null, avatar: null };
  expect(await (await app.get('/api/account')).json()).toEqual(none);
  const notify = { url: 'https://example.com/hook', email: ['ops@example.com'], events: ['run.failed'] };
  expect(await patch({ timezone: 'Europe/Warsaw', budget: 12.5 })).toEqual([
    200,
    { ...none, timezone: 'Europe/Warsaw', budget: 12.5 },
  ]);
  expect(await patch({ notify })).toEqual([200, { ...none, timezone: 'Europe/Warsaw', budget: 12.5, notify }]);
  expect(await columns()).toEqual({ timezone: 'Europe/Warsaw', budgetNano: 12_500_000_000n, notify });
});

test('PATCH edits the account’s AGENTS.md in place: comments, order, quotes and text stay byte for byte', async () => {
  const { text, write, patch } = await stage();
  const before =
    '---\n# who we are\nname: \'Kettle & Leaf\'\ntimezone: "UTC"   # until we move\nbudget: 5\n---\n\n# Us\n\nWe sell tea.\n';
  await write(before);
  expect((await patch({ budget: 7 }))[0]).toBe(200);
  expect(await text()).toBe(before.replace('budget: 5', 'budget: 7'));
  expect((await patch({ timezone: null, budget: null }))[0]).toBe(200);
  const after = await text();
  expect(after).toContain("# who we are\nname: 'Kettle & Leaf'\n");
  expect(after).not.toMatch(/timezone|budget/);
  expect(after).toContain('# Us\n\nWe sell tea.\n');
});

test('null clears a default, in the file and in the columns together', async () => {
  const { columns, text, patch } = await stage();
  await patch({ timezone: 'UTC', budget: 1, notify: { email: 'a@example.com' } });
  expect((await patch({ timezone: null, budget: null, notify: null }))[1]).toMatchObject({
    timezone: null,
    budget: null,
    notify: null,
  });
  expect(await columns()).toEqual({ timezone: null, budgetNano: null, notify: null });
  expect(await text()).not.toMatch(/timezone|budget|notify/);
});

test('what would make the file unsound is refused with its issues, and nothing changes', async () => {
  const { app, columns, text, patch } = await stage();
  await patch({ timezone: 'UTC' });
  const [before, file] = [await columns(), await text()];
  const bad = [
    { timezone: 'Mars/Olympus' },
    { notify: { events: ['run.exploded'] } },
    { notify: { url: 'javascript:alert(1)' } },
    { notify: { url: 'https://10.0.0.1/hook' } },
    { notify: { email: 'nobody' } },
    { budget: -1 },
    { budgets: 1 },
    {},
  ];
  for (const body of bad) expect([body, (await patch(body))[0]]).toEqual([body, 422]);
  const [, answer] = await patch({ timezone: 'Mars/Olympus' });
  expect(answer).toMatchObject({ error: expect.stringMatching(/time zone/), issues: [{ path: 'AGENTS.md' }] });
  expect([await columns(), await text()]).toEqual([before, file]);
  expect(await (await app.get('/api/account')).json()).toMatchObject({ timezone: 'UTC' });
});

test('of many changes at once each is in the file: none writes over another', async () => {
  const { app, text, patch } = await stage();
  await Promise.all([patch({ timezone: 'UTC' }), patch({ budget: 3 }), patch({ notify: { email: 'a@example.com' } })]);
  expect(await (await app.get('/api/account')).json()).toMatchObject({
    timezone: 'UTC',
    budget: 3,
    notify: expect.anything(),
  });
  expect(await text()).toMatch(/timezone[\s\S]*budget|budget[\s\S]*timezone/);
});

test('an admin narrowed to some workspaces does not set what holds for all, and sets nothing of another account', async () => {
  const { app, patch } = await stage();
  const as = await createKey(app.deps, { ...app, role: 'admin', workspaces: ['shop'] });
  expect(await patch({ budget: 1 }, { as })).toMatchObject([403, { need: 'every workspace' }]);
  const foreign = await createTenant(app.deps);
  const other = await createKey(app.deps, { ...foreign, role: 'admin' });
  await patch({ budget: 9 });
  expect(await (await app.get('/api/account', { as: other })).json()).toMatchObject({
    account: foreign.tenant,
    budget: null,
  });
});

test('the budget that PATCH sets holds: once the month has used it no run starts, and one more dollar lets them', async () => {
  const { app, workspace } = await createAccessStage();
  const run = await startRun(app, workspace);
  await app.deps.db.query(
    `INSERT INTO usage (tenant_id, workspace_id, run_id, step, meter, nano, source)
     SELECT tenant_id, workspace_id, id, 'say_it', 'model', 2000000000, 'provider' FROM run WHERE id = $1`,
    [run],
  );
  const start = async () => (await app.post(`/api/workspaces/${workspace}/flows/hello/run`, {})).status;
  expect(await start()).toBe(202);
  expect((await app.patch('/api/account', { budget: 2 })).status).toBe(200);
  expect(await start()).toBe(402);
  expect((await app.patch('/api/account', { budget: 3 })).status).toBe(200);
  expect(await start()).toBe(202);
});
