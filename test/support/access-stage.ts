import type { Route } from '../../src/api/define-route.js';
import { routes } from '../../src/api/routes/index.js';
import { makeInvite, mintKey } from '../../src/people/index.js';
import type { Config } from '../../src/platform/config/index.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { newId } from '../../src/shared/ids.js';
import { ROLES, type Role } from '../../src/shared/roles.js';
import { createKey, createTenant, createTestDeps, type TestApp } from './create-test-app.js';
import { createPerson, type Person } from './sessions.js';
import { signedInCookie } from './signed-in-cookie.js';
import { testDb } from './test-db.js';
import { createWorkspaceApp, EVAL, SMALL, type WorkspaceApp } from './workspace-app.js';

export const ECHO = '---\ndescription: Says it again.\n---\n\n```sh\ncat\n```\n';

/** Temporal is away: what is asked of the API is answered all the same. */
const awayWorkflows = new Proxy({} as Workflows, {
  get: (_target, name) => async (id: string) => {
    if (name === 'ping') return false;
    // As a worker leaves it.
    if (name === 'testTool')
      return testDb().query(`UPDATE tool_test SET started_at = now(), finished_at = now(), result = $2 WHERE id = $1`, [
        id,
        JSON.stringify({ text: '', isError: false, status: null, truncated: false, durationMs: 1 }),
      ]);
    throw new Error('Temporal is away');
  },
});

export type Credential = 'key' | 'session';

export interface AccessStage {
  readonly app: WorkspaceApp;
  readonly workspace: string;
  readonly people: Readonly<Record<Role, Person>>;
  /** A call with that credential of the role; a session is a new one each time, since some routes end it. */
  as(role: Role, by: Credential): Promise<RequestInit & { as: string | null }>;
  /** The same for an admin who is narrowed to another workspace, and for an admin of another account. */
  asScoped(by: Credential): Promise<RequestInit & { as: string | null }>;
  asForeign(by: Credential): Promise<RequestInit & { as: string | null }>;
  /** Keys and sessions that let nobody in any more. */
  readonly dead: Readonly<Record<string, { as: string | null; headers?: Record<string, string> }>>;
  readonly deployKeys: readonly string[];
  /** The route's path with things in it that are there, new ones where the route could use them up. */
  pathOf(route: Pick<Route, 'path'>): Promise<string>;
}

const SESSION_HEADERS = { 'sec-fetch-site': 'same-origin' };

export async function createAccessStage(config: Partial<Config> = {}): Promise<AccessStage> {
  const sandbox = { ...(await createTestDeps()).sandbox, driver: 'none', reason: null } as never;
  const app = await createWorkspaceApp({ routes, deps: { workflows: awayWorkflows, sandbox }, config });
  const files = { ...SMALL, 'tools/echo.md': ECHO, 'evals/checks.md': EVAL };
  const { name: workspace, id: workspaceId } = await app.workspace(files);
  const entries = await Promise.all(ROLES.map(async (role) => [role, await createPerson(app, role)] as const));
  const people = Object.fromEntries(entries) as Record<Role, Person>;
  const foreign = await createTenant(app.deps);
  const scoped = await createPerson(app, 'admin');
  await app.deps.db.query(`UPDATE member SET all_workspaces = false, workspaces = '{another}' WHERE id = $1`, [
    scoped.id,
  ]);

  async function call(person: Person, tenant: string, by: Credential, role: Exclude<Role, 'owner'> = 'admin') {
    if (by === 'session')
      return { as: null, headers: { ...SESSION_HEADERS, cookie: await signedInCookie(app.deps, tenant, person) } };
    return { as: (await mintKey(app.deps.db, { tenant, label: 'x', role, mintedBy: person })).key };
  }
  return {
    app,
    workspace,
    people,
    // An owner's key is an admin's.
    as: (role, by) => call(people[role], app.tenant, by, role === 'owner' ? 'admin' : role),
    asScoped: (by) => call(scoped, app.tenant, by),
    asForeign: (by) => call(foreign.owner, foreign.tenant, by),
    dead: await deadCredentials(app),
    deployKeys: await deployKeys(app, workspaceId),
    pathOf: (route) => pathOf(app, workspace, route.path),
  };
}

async function deployKeys({ deps, tenant, owner }: TestApp, workspace: string): Promise<string[]> {
  const mint = (access: 'read' | 'write') =>
    mintKey(deps.db, { tenant, label: 'x', role: 'admin', mintedBy: owner, deploy: { workspace, access } });
  return [(await mint('read')).key, (await mint('write')).key];
}

async function deadCredentials(app: TestApp): Promise<AccessStage['dead']> {
  const { deps, tenant, owner } = app;
  const mint = (more: object) => mintKey(deps.db, { tenant, label: 'x', role: 'admin', mintedBy: owner, ...more });
  const revoked = await mint({});
  await deps.db.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [revoked.id]);
  const removed = await createPerson(app, 'admin');
  const ofRemoved = await mintKey(deps.db, { tenant, label: 'x', role: 'admin', mintedBy: removed });
  const sessionOfRemoved = await signedInCookie(deps, tenant, removed);
  await deps.db.query('DELETE FROM member WHERE id = $1', [removed.id]);
  const late = await createPerson(app, 'admin');
  const ended = await signedInCookie(deps, tenant, late);
  await deps.db.query('UPDATE session SET expires_at = now() WHERE member_id = $1', [late.id]);
  const last = app.key.slice(-1);
  const session = (cookie: string) => ({ as: null, headers: { ...SESSION_HEADERS, cookie } });
  return {
    nobody: { as: null },
    'a forged tenant header': { as: null, headers: { 'x-service-tenant': tenant } },
    'a made-up session': session('service_session=anything'),
    'a key as a password': { as: null, headers: { authorization: `Basic ${btoa(`x:${app.key}`)}` } },
    'a mistyped key': { as: app.key.slice(0, -1) + (last === 'a' ? 'b' : 'a') },
    'a revoked key': { as: revoked.key },
    'an expired key': { as: (await mint({ expiresAt: new Date(Date.now() - 1_000) })).key },
    'the key of a removed member': { as: ofRemoved.key },
    'the session of a removed member': session(sessionOfRemoved),
    'an expired session': session(ended),
  };
}

/** Each thing of a path is there. */
async function pathOf(app: WorkspaceApp, workspace: string, path: string): Promise<string> {
  const usesUp = path === '/api/workspaces/{ws}' || path === '/api/workspaces/{ws}/flows/{flow}';
  const ws = usesUp ? (await app.workspace()).name : workspace;
  const filled = path
    .replace('{ws}', ws)
    .replace('{repo}', `${ws}.git`)
    .replace('{tenant}', app.tenant)
    .replace('{flow}', 'hello')
    .replace('{agent}', 'writer')
    .replace('{tool}', 'echo')
    .replace('{eval}', 'checks')
    .replace('{kind}/{id}', `account/${app.tenant}`)
    .replace('{kind}', 'knowledge');
  const id = filled.includes('{id}') ? await idOf(app, workspace, path) : '';
  return filled.replace('{id}', id);
}

async function idOf(app: WorkspaceApp, workspace: string, path: string): Promise<string> {
  if (path.includes('/evals/{eval}/runs/{id}')) return startEval(app, workspace);
  if (path.includes('/runs/{id}')) return startRun(app, workspace);
  if (path.includes('/deliveries/{id}')) return delivered(app, workspace);
  if (path.includes('/members/{id}')) return (await createPerson(app, 'viewer')).id;
  if (!path.includes('/invites/{id}')) return 'no-such-thing';
  const place = { role: 'viewer', allWorkspaces: true, workspaces: [] } as const;
  const email = `${newId()}@x.test`;
  return (await makeInvite(app.deps.db, { tenant: app.tenant, email, by: app.owner.id, ...place })).id;
}

/** A delivery of the flow `hello` that started nothing. Answers its id. */
async function delivered(app: TestApp, workspace: string): Promise<string> {
  const id = newId();
  await app.deps.db.query(
    `INSERT INTO delivery (id, workspace_id, flow, kind, outcome, input, trigger)
      SELECT $1, id, 'hello', 'webhook', 'filtered', '{}', '{"kind":"webhook"}' FROM workspace
      WHERE tenant_id = $2 AND name = $3`,
    [id, app.tenant, workspace],
  );
  return id;
}

/** An eval run that waits for Temporal. Answers its id. */
async function startEval(app: TestApp, workspace: string): Promise<string> {
  const as = await createKey(app.deps, { ...app, role: 'editor' });
  const response = await app.post(`/api/workspaces/${workspace}/evals/checks/run`, {}, { as });
  if (response.status !== 202) throw new Error(`no eval run: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { evalRunId: string }).evalRunId;
}

/** A run that waits for Temporal. Answers its id. */
export async function startRun(app: TestApp, workspace: string): Promise<string> {
  const as = await createKey(app.deps, { ...app, role: 'editor' });
  const response = await app.post(`/api/workspaces/${workspace}/flows/hello/run`, {}, { as });
  if (response.status !== 202) throw new Error(`no run: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { runId: string }).runId;
}
