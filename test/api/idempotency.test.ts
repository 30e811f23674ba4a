import { createRoute, z } from '@hono/zod-openapi';
import { expect, test } from 'vitest';
import { defineRoute, type Route } from '../../src/api/define-route.js';
import { createdResponse, jsonBody, WorkspaceParams } from '../../src/api/schemas.js';
import { audit, sweepIdempotencyKeys } from '../../src/people/index.js';
import { OutcomeUnknown } from '../../src/platform/db/errors.js';
import type { Db, SqlQuery } from '../../src/platform/db/index.js';
import { Refusal } from '../../src/shared/refusal.js';
import { createKey, createTestApp, type TestApp } from '../support/create-test-app.js';
import { testDb } from '../support/test-db.js';
import { insertWorkspace } from '../support/workspace-row.js';

const Body = z.strictObject({ name: z.string() });
const Made = z.object({ name: z.string(), nth: z.number() });

/** A POST whose effect is a row, and which waits for `gate` before it answers. */
function creating(gate: () => Promise<unknown> = async () => undefined): Route {
  return defineRoute({
    access: { role: 'editor' },
    idempotent: true,
    route: createRoute({
      method: 'post',
      path: '/api/things',
      request: { body: jsonBody(Body) },
      responses: createdResponse(Made),
    }),
    handle: async (c) => {
      const { deps, caller } = c.var;
      const { name } = c.req.valid('json');
      await audit(deps.db, caller, 'thing.create', name);
      await gate();
      c.header('Location', `/api/things/${name}`);
      return c.json({ name, nth: await effects(c.var.deps, caller.tenant) }, 201);
    },
  });
}

async function effects(deps: TestApp['deps'], tenant: string): Promise<number> {
  const rows = await deps.db.query(`SELECT 1 FROM audit_entry WHERE tenant_id = $1 AND action = 'thing.create'`, [
    tenant,
  ]);
  return rows.length;
}

const withKey = (key: string) => ({ headers: { 'Idempotency-Key': key } });

test('the same call again gets the first answer, and does nothing', async () => {
  const { post, deps, tenant } = await createTestApp({ routes: [creating()] });
  const first = await post('/api/things', { name: 'a' }, withKey('k'));
  const second = await post('/api/things', { name: 'a' }, withKey('k'));
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(await second.text()).toBe(await first.text());
  expect(second.headers.get('location')).toBe('/api/things/a');
  expect([first, second].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
  expect(await effects(deps, tenant)).toBe(1);
});

test('of twenty twins at once one takes effect, and the others are told that it is at work', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { post, deps, tenant } = await createTestApp({ routes: [creating(() => gate)] });
  let refused = 0;
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const { status } = await post('/api/things', { name: 'a' }, withKey('twins'));
      if (status === 409) refused += 1;
      // The one that works is let go only when all the others have been refused beside it.
      if (refused === 19) open();
      return status;
    }),
  );
  expect(answers.sort()).toEqual([201, ...Array(19).fill(409)]);
  expect(await effects(deps, tenant)).toBe(1);
  expect((await post('/api/things', { name: 'a' }, withKey('twins'))).headers.get('idempotency-replayed')).toBe('true');
});

test('another body, another query under the same key is 422', async () => {
  const { post, deps, tenant } = await createTestApp({ routes: [creating()] });
  await post('/api/things', { name: 'a' }, withKey('k'));
  expect((await post('/api/things', { name: 'b' }, withKey('k'))).status).toBe(422);
  expect((await post('/api/things?x=1', { name: 'a' }, withKey('k'))).status).toBe(422);
  expect(await effects(deps, tenant)).toBe(1);
});

test('a key is the tenant’s own, and each call without one stands for itself', async () => {
  const [one, two] = [await createTestApp({ routes: [creating()] }), await createTestApp({ routes: [creating()] })];
  await one.post('/api/things', { name: 'a' }, withKey('k'));
  await two.post('/api/things', { name: 'a' }, withKey('k'));
  await two.post('/api/things', { name: 'a' });
  expect([await effects(one.deps, one.tenant), await effects(two.deps, two.tenant)]).toEqual([1, 2]);
});

test('a refusal is an answer and is given again; "not now" is not', async () => {
  const errors: Error[] = [new Refusal('conflict', 'first'), new Refusal('unavailable', 'second'), new Error('third')];
  const { post } = await createTestApp({
    routes: [
      creating(async () => {
        const error = errors.shift();
        if (error) throw error;
      }),
    ],
  });
  const calls = ['x', 'x', 'y', 'y', 'y', 'y'];
  const seen: unknown[] = [];
  for (const key of calls) {
    const { status, headers } = await post('/api/things', { name: key }, withKey(key));
    seen.push([status, headers.get('idempotency-replayed')]);
  }
  expect(seen).toEqual([
    [409, null],
    [409, 'true'],
    [503, null],
    [500, null],
    [201, null],
    [201, 'true'],
  ]);
});

test('what fails its schema or its role takes no key', async () => {
  const { post, deps, tenant } = await createTestApp({ routes: [creating()] });
  expect((await post('/api/things', { nam: 'a' }, withKey('k'))).status).toBe(422);
  expect((await post('/api/things', { name: 'a' }, withKey('k'))).status).toBe(201);
  expect(await effects(deps, tenant)).toBe(1);
});

test('after a day the key is free again; one whose first call never answered is not tried again before', async () => {
  const { post, deps, tenant } = await createTestApp({ routes: [creating()] });
  const age = (interval: string) =>
    deps.db.query(`UPDATE idempotency_key SET created_at = now() - $2::interval WHERE tenant_id = $1`, [
      tenant,
      interval,
    ]);
  await post('/api/things', { name: 'a' }, withKey('k'));
  await age('25 hours');
  expect((await post('/api/things', { name: 'b' }, withKey('k'))).status).toBe(201);
  await deps.db.query('UPDATE idempotency_key SET response = NULL, status = NULL WHERE tenant_id = $1', [tenant]);
  await age('1 hour');
  const lost = await post('/api/things', { name: 'b' }, withKey('k'));
  expect([lost.status, await lost.json()]).toEqual([409, expect.objectContaining({ code: 'idempotency-key-lost' })]);
});

test('a key that is no key is 422', async () => {
  const { post } = await createTestApp({ routes: [creating()] });
  expect((await post('/api/things', { name: 'a' }, withKey('a b'))).status).toBe(422);
});

test('keys of more than a day are swept, and no others', async () => {
  const { post, deps, tenant } = await createTestApp({ routes: [creating()] });
  await post('/api/things', { name: 'a' }, withKey('old'));
  await deps.db.query(`UPDATE idempotency_key SET created_at = now() - interval '25 hours' WHERE tenant_id = $1`, [
    tenant,
  ]);
  await post('/api/things', { name: 'a' }, withKey('new'));
  await sweepIdempotencyKeys(deps);
  expect(await deps.db.query('SELECT key FROM idempotency_key WHERE tenant_id = $1', [tenant])).toEqual([
    { key: 'new' },
  ]);
});

test('a kept answer is no way past a workspace that the caller may not see', async () => {
  const inWorkspace = defineRoute({
    access: { role: 'editor' },
    idempotent: true,
    route: createRoute({
      method: 'post',
      path: '/api/workspaces/{ws}/things',
      request: { params: WorkspaceParams, body: jsonBody(Body) },
      responses: createdResponse(Made),
    }),
    handle: async (c) => c.json({ name: c.req.valid('json').name, nth: 1 }, 201),
  });
  const { post, deps, tenant, owner } = await createTestApp({ routes: [inWorkspace] });
  await insertWorkspace(deps, tenant, 'secret');
  const narrowed = await createKey(deps, { tenant, owner, role: 'editor', workspaces: ['other'] });
  const ask = async (key: string, name: string, as?: string) => {
    const init = { ...withKey(key), ...(as !== undefined && { as }) };
    return (await post('/api/workspaces/secret/things', { name }, init)).status;
  };
  expect(await ask('k', 'a')).toBe(201);
  expect([await ask('k', 'a', narrowed), await ask('k', 'b', narrowed), await ask('k k', 'a', narrowed)]).toEqual([
    404, 404, 404,
  ]);
  expect([await ask('k', 'a'), await ask('k', 'b'), await ask('k k', 'a')]).toEqual([201, 422, 422]);
});

test('a call of which nobody knows whether it took effect is not done again under its key', async () => {
  let calls = 0;
  const unsure = defineRoute({
    access: { role: 'editor' },
    idempotent: true,
    route: createRoute({
      method: 'post',
      path: '/api/things',
      request: { body: jsonBody(Body) },
      responses: createdResponse(Made),
    }),
    handle: async () => {
      calls += 1;
      throw new OutcomeUnknown(new Error('Connection terminated'));
    },
  });
  const { post } = await createTestApp({ routes: [unsure] });
  const first = await post('/api/things', { name: 'a' }, withKey('k'));
  expect([first.status, await first.json()]).toMatchObject([503, { code: 'outcome-unknown' }]);
  expect((await post('/api/things', { name: 'a' }, withKey('k'))).status).toBe(409);
  expect(calls).toBe(1);
});

/** A POST whose answer is written with its effect; `within` runs in the transaction, `after` when it is committed. */
function settling(within: () => Promise<unknown>, after: () => void = () => undefined): Route {
  return defineRoute({
    access: { role: 'editor' },
    idempotent: 'settled',
    route: createRoute({
      method: 'post',
      path: '/api/things',
      request: { body: jsonBody(Body) },
      responses: createdResponse(Made),
    }),
    handle: async (c) => {
      const { deps, caller, recordAnswer } = c.var;
      const made = { name: c.req.valid('json').name, nth: 1 };
      await deps.db.transaction(async (sql) => {
        await audit(sql, caller, 'thing.create', made.name);
        await within();
        await recordAnswer?.(201)(sql, made);
      });
      after();
      return c.json(made, 201);
    },
  });
}

const heldUntil = async ({ deps, tenant }: TestApp): Promise<Date | undefined> => {
  const [row] = await deps.db.query<{ at: Date }>('SELECT held_until AS at FROM idempotency_key WHERE tenant_id = $1', [
    tenant,
  ]);
  return row?.at;
};

test('a holder that fell silent is overtaken by the same call, and what it then commits is undone', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const gates = [gate];
  const app = await createTestApp({ routes: [settling(() => gates.pop() ?? Promise.resolve())] });
  const first = app.post('/api/things', { name: 'a' }, withKey('k'));
  await expect.poll(() => heldUntil(app)).toBeInstanceOf(Date);
  const early = await app.post('/api/things', { name: 'a' }, withKey('k'));
  expect([early.status, early.headers.get('retry-after')]).toEqual([409, '1']);
  await expect.poll(() => gates.length).toBe(0);
  await app.deps.db.query(`UPDATE idempotency_key SET held_until = now() - interval '1 second' WHERE tenant_id = $1`, [
    app.tenant,
  ]);
  expect((await app.post('/api/things', { name: 'b' }, withKey('k'))).status, 'another call may not').toBe(422);
  expect((await app.post('/api/things', { name: 'a' }, withKey('k'))).status).toBe(201);
  open();
  expect((await first).status).toBe(409);
  expect(await effects(app.deps, app.tenant)).toBe(1);
  const again = await app.post('/api/things', { name: 'a' }, withKey('k'));
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
});

test('a holder that is only slow says that it lives', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const app = await createTestApp({ routes: [settling(() => gate)] });
  const first = app.post('/api/things', { name: 'a' }, withKey('k'));
  await expect.poll(() => heldUntil(app)).toBeInstanceOf(Date);
  const began = Number(await heldUntil(app));
  await expect.poll(async () => Number(await heldUntil(app))).toBeGreaterThan(began);
  open();
  expect((await first).status).toBe(201);
});

test('an answer does not wait for a renewal that gets no connection', async () => {
  const renewals: (() => void)[] = [];
  const gates: (() => void)[] = [];
  const own = testDb();
  const query: Db['query'] = async <Row>(sql: SqlQuery | string, values?: readonly unknown[]) => {
    if (typeof sql !== 'object' || sql.name !== 'renew-idempotency-key') return own.query<Row>(sql, values);
    for (const open of gates.splice(0)) open();
    await new Promise<void>((resolve) => void renewals.push(resolve));
    return [];
  };
  const db: Db = Object.assign(Object.create(own), { query });
  const untilRenewed = () => new Promise<void>((resolve) => void gates.push(resolve));
  const app = await createTestApp({ routes: [settling(untilRenewed)], deps: { db } });
  expect((await app.post('/api/things', { name: 'a' }, withKey('k'))).status).toBe(201);
  for (const end of renewals) end();
  expect(renewals).toHaveLength(1);
});

test('an answer that was lost at the commit is given to the same call when it was committed', async () => {
  const lost = () => {
    throw new OutcomeUnknown(new Error('Connection terminated'));
  };
  const app = await createTestApp({ routes: [settling(async () => undefined, lost)] });
  expect((await app.post('/api/things', { name: 'a' }, withKey('k'))).status).toBe(503);
  const again = await app.post('/api/things', { name: 'a' }, withKey('k'));
  expect([again.status, await again.json()]).toEqual([201, { name: 'a', nth: 1 }]);
  expect(await effects(app.deps, app.tenant)).toBe(1);
});
