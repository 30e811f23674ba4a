import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/api/app.js';
import type { Route } from '../../src/api/define-route.js';
import { routes as allRoutes } from '../../src/api/routes/index.js';
import type { Deps } from '../../src/deps.js';
import { startPushEvals } from '../../src/evals/index.js';
import { mintKey } from '../../src/people/index.js';
import { type Config, parseConfig } from '../../src/platform/config/index.js';
import { createNet } from '../../src/platform/net/index.js';
import { systemClock } from '../../src/shared/clock.js';
import { newId } from '../../src/shared/ids.js';
import type { Role } from '../../src/shared/roles.js';
import { checkAnswersOf } from './app-answers.js';
import { atFileEnd } from './file-end.js';
import { testDatabase } from './postgres.js';
import { silentLog } from './silent-log.js';
import { testDb } from './test-db.js';

export interface TestAppOptions {
  /** The role of the app's key; `owner` is the owner's own key, which acts as an admin. Default admin. */
  readonly role?: Role;
  /** Narrows the member behind the key to these workspaces. */
  readonly workspaces?: readonly string[];
  /** The real parts a test needs beyond the database. What is not given throws when it is touched. */
  readonly deps?: Partial<Deps>;
  readonly config?: Partial<Config>;
  readonly routes?: readonly Route[];
}

export type TestRequest = RequestInit & { readonly as?: string | null };

export interface TestApp {
  readonly deps: Deps;
  readonly tenant: string;
  /** The bearer key that requests carry unless they say otherwise. */
  readonly key: string;
  readonly owner: { readonly id: string; readonly email: string };
  /** `as` is another key, or null for none. */
  request(path: string, init?: TestRequest): Promise<Response>;
  get(path: string, init?: TestRequest): Promise<Response>;
  post(path: string, body?: unknown, init?: TestRequest): Promise<Response>;
  put(path: string, body?: unknown, init?: TestRequest): Promise<Response>;
  patch(path: string, body?: unknown, init?: TestRequest): Promise<Response>;
  delete(path: string, init?: TestRequest): Promise<Response>;
}

/**
 * The real app on the real database, in a tenant of its own: tests of a file share the database and never each other's
 * rows. Its data folder is removed when the test file is done.
 */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const deps = await createTestDeps(options);
  const { tenant, owner } = await createTenant(deps);
  const key = await createKey(deps, {
    tenant,
    owner,
    role: options.role ?? 'admin',
    workspaces: options.workspaces ?? null,
  });
  const routes = options.routes ?? allRoutes;
  const app = createApp(deps, routes);
  const check = checkAnswersOf(deps, routes);

  async function request(path: string, { as = key, headers, ...init }: TestRequest = {}): Promise<Response> {
    const all = new Headers(headers);
    if (as !== null && !all.has('authorization')) all.set('authorization', `Bearer ${as}`);
    const response = await app.request(path, { ...init, headers: all });
    const { pathname } = new URL(path, 'http://localhost');
    await check({ method: init.method ?? 'GET', path: pathname }, response);
    return response;
  }
  function send(method: string) {
    return (path: string, body?: unknown, init: TestRequest = {}) => {
      const headers = new Headers(init.headers);
      if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
      return request(path, { ...init, method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    };
  }
  return {
    deps,
    tenant,
    key,
    owner,
    request,
    get: (path, init) => request(path, { ...init, method: 'GET' }),
    post: send('POST'),
    put: send('PUT'),
    patch: send('PATCH'),
    delete: (path, init) => request(path, { ...init, method: 'DELETE' }),
  };
}

export async function createTestDeps({
  deps = {},
  config = {},
}: Pick<TestAppOptions, 'deps' | 'config'> = {}): Promise<Deps> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-test-'));
  atFileEnd(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  const signing = new Uint8Array(randomBytes(32));
  const whole = {
    ...parseConfig({ DATABASE_URL: testDatabase(), SERVICE_DATA_DIR: dataDir }, '0.0.0-test'),
    ...config,
  };
  return {
    config: whole,
    keys: { signing, ring: [{ id: 'k1', key: signing }] },
    log: silentLog,
    workerId: newId(),
    workerBlocks: () => 0,
    clock: systemClock,
    db: testDb(),
    workflows: untouched('workflows'),
    blobs: untouched('blobs'),
    models: untouched('models'),
    net: createNet({ config: whole }),
    sandbox: untouched('sandbox'),
    checker: untouched('checker'),
    startPushEvals,
    ...deps,
  };
}

export async function createTenant(deps: Pick<Deps, 'db'>): Promise<Pick<TestApp, 'tenant' | 'owner'>> {
  const tenant = `t-${newId()}`;
  const owner = { id: newId(), email: `owner@${tenant}.test` };
  await deps.db.transaction(async (sql) => {
    await sql.query('INSERT INTO tenant (id, name, owner_id) VALUES ($1, $1, $2)', [tenant, owner.id]);
    await insertMember(sql, { ...owner, tenant, role: 'admin', workspaces: null });
  });
  return { tenant, owner };
}

interface KeyWish {
  readonly tenant: string;
  readonly owner: TestApp['owner'];
  readonly role: Role;
  readonly workspaces?: readonly string[] | null;
}

/** A key of a member of its own with that role; the owner's own for `owner`. */
export async function createKey(deps: Pick<Deps, 'db'>, wish: KeyWish): Promise<string> {
  const { tenant, role, workspaces = null } = wish;
  if (role === 'owner')
    return (await mintKey(deps.db, { tenant, label: 'owner', role: 'admin', mintedBy: wish.owner })).key;
  const member = { id: newId(), email: `${role}-${newId()}@${tenant}.test` };
  await insertMember(deps.db, { ...member, tenant, role, workspaces });
  return (await mintKey(deps.db, { tenant, label: role, role, mintedBy: member })).key;
}

interface MemberWish {
  readonly id: string;
  readonly email: string;
  readonly tenant: string;
  readonly role: string;
  readonly workspaces: readonly string[] | null;
}

export async function insertMember(
  sql: Pick<Deps['db'], 'query'>,
  { id, email, tenant, role, workspaces }: MemberWish,
): Promise<void> {
  await sql.query(
    `INSERT INTO member (id, tenant_id, email, role, password_hash, all_workspaces, workspaces)
     VALUES ($1, $2, $3, $4, 'none', $5, $6)`,
    [id, tenant, email, role, workspaces === null, workspaces ?? []],
  );
}

/** A part that this test does not bring: touching it is the test's fault, and says so. */
function untouched<T extends object>(name: string): T {
  return new Proxy({} as T, {
    get: (_target, property) => {
      throw new Error(`this test gave the app no \`${name}\`, and something asked for ${name}.${String(property)}`);
    },
  });
}
