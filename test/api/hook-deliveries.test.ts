import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { sweepBursts } from '../../src/triggers/bursts.js';
import { sweepDeliveries } from '../../src/triggers/deliveries.js';
import { createKey } from '../support/create-test-app.js';
import { hooked, runsOf, startHook } from '../support/hooks.js';
import { AGENT, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

const SECRET = "It's a Secret to Everybody";
let app: WorkspaceApp;

beforeAll(async () => {
  const workflows = new Proxy({} as Workflows, { get: () => () => Promise.reject(new Error('Temporal is away')) });
  app = await createWorkspaceApp({ routes, deps: { workflows } });
  expect((await app.put('/api/secrets', { name: 'SIGNING', value: SECRET })).status).toBe(200);
});

const started = (frontmatter: string) => startHook(app, frontmatter);
const HOOK = 'trigger: webhook';
const signed = (kind: string) => `trigger: webhook\nsignature: ${kind}\nsigning_secret: SIGNING`;
const hex = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex');

describe('debounce', () => {
  const DEBOUNCED = `${HOOK}\ndedupe: body.thread\ndebounce: 30s`;
  const dueNow = (name: string) =>
    app.deps.db.query(
      `UPDATE burst SET due_at = now() - interval '1 s' WHERE workspace_id = (SELECT id FROM workspace WHERE name = $1)`,
      [name],
    );

  test('a burst of one key is one run of its last body, begun once however many look', async () => {
    const hook = await started(DEBOUNCED);
    for (const n of [1, 2, 3]) {
      const [status, answer] = await hook.send({ thread: 'a', n });
      expect([status, answer]).toEqual([202, { ok: true, debounced: true, startsAt: expect.any(String) }]);
    }
    await hook.send({ thread: 'b', n: 4 });
    await sweepBursts(app.deps);
    expect(await hook.runs()).toEqual([]);
    await dueNow(hook.name);
    await Promise.all([1, 2, 3].map(() => sweepBursts(app.deps)));
    const inputs = (await hook.runs()).map(({ input, trigger }) => [input, trigger.deliveries]);
    expect(inputs).toHaveLength(2);
    expect(inputs).toEqual(
      expect.arrayContaining([
        [{ thread: 'a', n: 3 }, 3],
        [{ thread: 'b', n: 4 }, 1],
      ]),
    );
    const list = await hook.deliveries();
    expect(
      new Set(list.map((one: { runId: string; outcome: string }) => `${one.outcome} ${one.runId !== null}`)),
    ).toEqual(new Set(['started true']));
    // Each of them can be made again as it was.
    const [, , , first] = list;
    expect((await app.post(`/api/workspaces/${hook.name}/hooks/hooked/deliveries/${first.id}/redeliver`)).status).toBe(
      202,
    );
    expect((await hook.runs()).at(-1)?.input).toEqual({ thread: 'a', n: 1 });
    await hook.send({ thread: 'a', n: 5 });
    await dueNow(hook.name);
    await sweepBursts(app.deps);
    expect((await hook.runs()).map(({ input }) => input)).toContainEqual({ thread: 'a', n: 5 });
  });

  test('a quiet time of millions of years is the longest there is, and loses no delivery', async () => {
    const hook = await started(`${HOOK}\ndedupe: body.thread\ndebounce: 999999999w`);
    expect((await hook.send({ thread: 'a' }))[0]).toBe(202);
    await dueNow(hook.name);
    await sweepBursts(app.deps);
    expect(await hook.runs()).toHaveLength(1);
  });

  test('two numbers that are one double are two bursts', async () => {
    const hook = await started(DEBOUNCED);
    for (const thread of ['9007199254740992', '9007199254740993']) await hook.send(`{"thread":${thread}}`);
    await dueNow(hook.name);
    await sweepBursts(app.deps);
    expect((await hook.runs()).map(({ trigger }) => trigger.deliveries)).toEqual([1, 1]);
  });

  test('the same delivery twice is one of the burst, and a burst without end is cut at ten times its quiet', async () => {
    const hook = await started(DEBOUNCED);
    const headers = { 'webhook-id': 'm' };
    await hook.send({ thread: 'a' }, { headers });
    expect((await hook.send({ thread: 'a' }, { headers }))[1]).toMatchObject({ debounced: true, duplicate: true });
    const where = 'WHERE workspace_id = (SELECT id FROM workspace WHERE name = $1)';
    expect(await app.deps.db.query(`SELECT count FROM burst ${where}`, [hook.name])).toEqual([{ count: 1 }]);
    await app.deps.db.query(`UPDATE burst SET opened_at = now() - interval '295 s' ${where}`, [hook.name]);
    await hook.send({ thread: 'a' });
    const [row] = await app.deps.db.query<{ late: boolean }>(
      `SELECT due_at > now() + interval '10 s' AS late FROM burst ${where}`,
      [hook.name],
    );
    expect(row).toEqual({ late: false });
  });

  test('a burst whose workspace gets another name at that moment begins its run there', async () => {
    const hook = await started(DEBOUNCED);
    await hook.send({ thread: 'a' });
    await dueNow(hook.name);
    const { db } = app.deps;
    const renaming: Pick<typeof db, 'query'> = {
      query: async (query, values) => {
        const rows = await db.query(query, values);
        const isDue = typeof query !== 'string' && query.name === 'due-bursts';
        if (isDue) expect((await app.patch(`/api/workspaces/${hook.name}`, rename)).status).toBe(200);
        return rows as never;
      },
    };
    const rename = { name: `${hook.name}-new` };
    await sweepBursts({ ...app.deps, db: Object.assign(Object.create(db), renaming) });
    expect(await runsOf(app, `${hook.name}-new`)).toMatchObject([{ input: { thread: 'a' } }]);
  });

  test('a burst that its concurrency left out can be made again', async () => {
    const hook = await started(`${DEBOUNCED}\nconcurrency: { limit: 1, on_limit: skip }`);
    for (const thread of ['a', 'b']) {
      await hook.send({ thread });
      await dueNow(hook.name);
      await sweepBursts(app.deps);
    }
    const [skipped] = await hook.deliveries();
    expect(skipped).toMatchObject({ outcome: 'skipped', runId: null });
    await app.deploy(hook.name, { 'agents/writer.md': AGENT, 'flows/hooked.md': hooked(DEBOUNCED) }, { force: true });
    expect(
      (await app.post(`/api/workspaces/${hook.name}/hooks/hooked/deliveries/${skipped.id}/redeliver`)).status,
    ).toBe(202);
    expect((await hook.runs()).map(({ input }) => input)).toEqual([{ thread: 'a' }, { thread: 'b' }]);
  });

  test('a flow that was switched off meanwhile starts nothing, and the admin reads why', async () => {
    const hook = await started(DEBOUNCED);
    await hook.send({ thread: 'a' });
    await app.deploy(hook.name, {
      'agents/writer.md': AGENT,
      'flows/hooked.md': hooked(`${DEBOUNCED}\nenabled: false`),
    });
    await dueNow(hook.name);
    await sweepBursts(app.deps);
    expect(await hook.runs()).toEqual([]);
    expect(await hook.deliveries()).toMatchObject([
      { outcome: 'refused', detail: expect.stringContaining('switched off') },
    ]);
    expect(await sweepBursts(app.deps)).toBe(0);
  });
});

describe('deliveries', () => {
  test('one is made again by an admin, as the flow is now; one that proved nothing is not', async () => {
    const hook = await started(signed('hmac'));
    await hook.send('{"a":1}', { headers: { 'x-signature': hex('{"a":1}'), 'webhook-id': 'm' } });
    await hook.send('{"a":2}', { headers: { 'x-signature': 'no' } });
    const [bad, good] = await hook.deliveries();
    const again = (id: string) => app.post(`/api/workspaces/${hook.name}/hooks/hooked/deliveries/${id}/redeliver`);
    const answer = await again(good.id);
    expect(answer.status).toBe(202);
    expect((await hook.runs()).map((run) => [run.input, run.trigger.redeliveryOf])).toEqual([
      [{ a: 1 }, undefined],
      [{ a: 1 }, good.id],
    ]);
    expect((await hook.deliveries())[0]).toMatchObject({ outcome: 'started', redeliveryOf: good.id });
    expect((await again(bad.id)).status).toBe(409);
    expect((await again('no-such')).status).toBe(404);
    const as = await createKey(app.deps, { ...app, role: 'editor' });
    expect((await app.get(`/api/workspaces/${hook.name}/hooks/hooked/deliveries`, { as })).status).toBe(403);
  });

  test('made again under one Idempotency-Key it is one run, and left out by its concurrency one answer', async () => {
    const hook = await started(`${HOOK}\nconcurrency: { limit: 1, on_limit: skip }\nfilter: "input.n > 5"`);
    expect(await hook.send({ n: 1 })).toEqual([200, { ok: true, filtered: true }]);
    const [{ id }] = await hook.deliveries();
    const again = async (key: string) => {
      const path = `/api/workspaces/${hook.name}/hooks/hooked/deliveries/${id}/redeliver`;
      const answer = await app.post(path, undefined, { headers: { 'idempotency-key': `${key}-${id}` } });
      return [answer.status, await answer.json()];
    };
    const first = await again('a');
    expect(first).toEqual([202, { ok: true, runId: expect.any(String) }]);
    expect(await again('a')).toEqual(first);
    expect(await again('b')).toEqual([200, { ok: true, skipped: true }]);
    expect(await again('b')).toEqual([200, { ok: true, skipped: true }]);
    expect(await hook.runs()).toHaveLength(1);
    expect((await hook.deliveries()).map((one: { outcome: string }) => one.outcome)).toEqual([
      'skipped',
      'started',
      'filtered',
    ]);
  });

  test('the last hundred of a flow are kept', async () => {
    const hook = await started(HOOK);
    await app.deps.db.query(
      `INSERT INTO delivery (id, workspace_id, flow, kind, outcome)
        SELECT lpad(n::text, 26, '0'), w.id, 'hooked', 'webhook', 'filtered' FROM workspace w, generate_series(1, 150) n
        WHERE w.name = $1`,
      [hook.name],
    );
    await sweepDeliveries(app.deps.db);
    const rows = await app.deps.db.query<{ id: string }>(
      'SELECT d.id FROM delivery d JOIN workspace w ON w.id = d.workspace_id WHERE w.name = $1 ORDER BY d.id',
      [hook.name],
    );
    expect([rows.length, rows[0]?.id]).toEqual([100, '51'.padStart(26, '0')]);
    expect(await hook.deliveries()).toHaveLength(100);
  });
});
