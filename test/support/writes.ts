import sharp from 'sharp';
import { makeInvite } from '../../src/people/index.js';
import { newId } from '../../src/shared/ids.js';
import { deriveToken } from '../../src/shared/tokens.js';
import { type AccessStage, ECHO, startRun } from './access-stage.js';
import { hooked, hookOf } from './hooks.js';
import { linkPath } from './links.js';
import { createPerson, PASSWORD } from './sessions.js';
import { signedInCookie } from './signed-in-cookie.js';
import { EVAL, fileList, SMALL } from './workspace-app.js';

/** A call that changes something. What is left out is taken from the route: the path with things that are there, a key. */
export interface Write {
  readonly path?: string;
  readonly query?: string;
  readonly json?: object;
  readonly form?: Readonly<Record<string, string>>;
  readonly bytes?: Uint8Array;
  readonly by?: 'session' | 'nobody';
}

type Prepare = (stage: AccessStage) => Promise<Write> | Write;

/** Things that routes change, made by the same routes. */
async function made(stage: AccessStage, method: 'post' | 'put', path: string, body: object): Promise<string> {
  const response = await stage.app[method](path, body);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.text();
}

async function invited(stage: AccessStage): Promise<string> {
  const place = { role: 'viewer', allWorkspaces: true, workspaces: [] } as const;
  const { tenant, owner, deps } = stage.app;
  return (await makeInvite(deps.db, { tenant, email: `${newId()}@x.test`, by: owner.id, ...place })).token;
}

/** A run that waits at its first step, for a person or for an event. */
export async function parked(
  stage: Pick<AccessStage, 'app' | 'workspace'>,
  kind: 'approval' | 'event',
): Promise<string> {
  const run = await startRun(stage.app, stage.workspace);
  const spec = {
    n: 1,
    title: 'Say it',
    ask: '?',
    approvers: ['human'],
    self: true,
    edit: [],
    form: null,
    escalate: null,
  };
  await stage.app.deps.db.query(
    `INSERT INTO park (id, run_id, lane, step, round, kind, spec) VALUES ($1, $2, 'main', 'say_it', 1, $3, $4)`,
    [newId(), run, kind, JSON.stringify(spec)],
  );
  await stage.app.deps.db.query('UPDATE run SET gates_open = $2 WHERE id = $1', [run, kind === 'approval' ? 1 : 0]);
  return run;
}

const ofRun = (stage: AccessStage, run: string, verb = '') => `/api/workspaces/${stage.workspace}/runs/${run}${verb}`;
const ofSource = (stage: AccessStage) => `/api/workspaces/${stage.workspace}/source`;
const someFile = (): string => `knowledge/${newId()}.md`;
const urls = { authorize_url: 'https://example.com/authorize', token_url: 'https://example.com/token' };

async function oauthClient(stage: AccessStage): Promise<string> {
  const name = `c-${newId().slice(-8)}`;
  await made(stage, 'post', '/api/oauth/clients', {
    name,
    client: 'abc',
    config: { ...urls, client_secret: 'some-secret' },
  });
  return name;
}

/** The addresses of a flow that the outside starts. */
async function hookedFlow(stage: AccessStage, trigger: string) {
  const name = `hooked-${trigger}`;
  await made(stage, 'put', ofSource(stage), { path: `flows/${name}.md`, content: hooked(`trigger: ${trigger}`, name) });
  return hookOf(stage.app, stage.workspace, name);
}

const PICTURE = sharp({ create: { width: 9, height: 9, channels: 3, background: '#123456' } }).png();

/** How each route that writes is made to write. `test/api/audit-trail.test.ts` fails for a route that has no row. */
export const WRITES: Readonly<Record<string, Prepare>> = {
  'POST /api/workspaces': () => ({ json: { name: `w-${newId().slice(-10)}`, files: fileList(SMALL) } }),
  'DELETE /api/workspaces/{ws}': () => ({}),
  'PUT /api/workspaces/{ws}/source': () => ({ json: { path: someFile(), content: '# A\n' } }),
  'PATCH /api/workspaces/{ws}/source': async (stage) => {
    const from = someFile();
    await made(stage, 'put', ofSource(stage), { path: from, content: '# A\n' });
    return { json: { from, to: someFile() } };
  },
  'DELETE /api/workspaces/{ws}/source': async (stage) => {
    const path = someFile();
    await made(stage, 'put', ofSource(stage), { path, content: '# A\n' });
    return { query: `?path=${path}` };
  },
  'POST /api/workspaces/{ws}/deploy': () => ({
    json: { force: true, files: fileList({ ...SMALL, 'evals/checks.md': EVAL, [someFile()]: '# A\n' }) },
  }),
  'POST /api/workspaces/{ws}/repo': () => ({
    json: { action: 'mirror', url: 'https://example.com/mirror.git', https: true },
  }),
  'POST /api/workspaces/{ws}/flows/{flow}/run': () => ({ json: {} }),
  'POST /api/workspaces/{ws}/agents/{agent}/run': () => ({ json: { task: 'Write.' } }),
  'DELETE /api/workspaces/{ws}/runs/{id}': async (stage) => {
    const run = await startRun(stage.app, stage.workspace);
    await made(stage, 'post', ofRun(stage, run, '/stop'), {});
    return { path: ofRun(stage, run) };
  },
  'POST /api/workspaces/{ws}/runs/{id}/approve': async (stage) => ({
    path: ofRun(stage, await parked(stage, 'approval'), '/approve'),
    json: { decision: 'approve' },
  }),
  'POST /api/workspaces/{ws}/runs/{id}/stop': () => ({}),
  'POST /api/workspaces/{ws}/runs/{id}/rerun': () => ({ json: {} }),
  'POST /api/workspaces/{ws}/runs/{id}/promote': async (stage) => {
    const run = await startRun(stage.app, stage.workspace);
    await stage.app.deps.db.query(`UPDATE run SET status = 'completed', finished_at = now() WHERE id = $1`, [run]);
    return { path: ofRun(stage, run, '/promote'), json: {} };
  },
  'POST /api/workspaces/{ws}/tools/{tool}/test': async (stage) => {
    await made(stage, 'put', ofSource(stage), { path: 'tools/echo.md', content: ECHO });
    return { json: {} };
  },
  'PATCH /api/workspaces/{ws}': () => ({ json: { description: 'Other' } }),
  'POST /api/workspaces/{ws}/assets': () => ({ json: { kind: 'knowledge', name: `k-${newId().slice(-10)}` } }),
  'POST /api/workspaces/{ws}/agents': () => ({ json: { name: `a-${newId().slice(-10)}` } }),
  'POST /api/workspaces/{ws}/flows': () => ({ json: { name: `f-${newId().slice(-10)}` } }),
  'POST /api/workspaces/{ws}/flows/{flow}': () => ({ json: { target: 'writer', instruction: 'More.' } }),
  'PATCH /api/workspaces/{ws}/flows/{flow}': () => ({ json: { step: 1, instruction: 'Other.' } }),
  'DELETE /api/workspaces/{ws}/flows/{flow}': () => ({}),
  'POST /api/workspaces/{ws}/evals': () => ({ json: { name: `e-${newId().slice(-10)}` } }),
  'POST /api/workspaces/{ws}/evals/{eval}/run': () => ({ json: {} }),
  'POST /api/workspaces/{ws}/evals/{eval}/runs/{id}/stop': () => ({}),
  'POST /api/events/{tenant}/{ws}/{id}': async (stage) => {
    const run = await parked(stage, 'event');
    const token = deriveToken(stage.app.deps.keys.signing, 'event', [run]);
    return { path: `/api/events/${stage.app.tenant}/${stage.workspace}/${run}?token=${token}`, json: {}, by: 'nobody' };
  },
  'POST /api/library/{kind}': () => ({ json: { name: newId() } }),
  'PUT /api/library/{kind}': () => ({ json: { path: someFile(), content: '# A\n' } }),
  'DELETE /api/library/{kind}': async (stage) => {
    const path = someFile();
    await made(stage, 'put', '/api/library/knowledge', { path, content: '# A\n' });
    return { query: `?path=${path}` };
  },
  'POST /api/hooks/{tenant}/{ws}/{flow}': async (stage) => ({
    path: (await hookedFlow(stage, 'webhook')).hookUrl,
    json: {},
    by: 'nobody',
  }),
  'POST /api/inbox/{tenant}/{ws}/{flow}': async (stage) => ({
    path: (await hookedFlow(stage, 'email')).inboxUrl,
    json: { from: 'a@b.test', text: 'Hello' },
    by: 'nobody',
  }),
  'POST /api/workspaces/{ws}/hooks/{flow}/rotate': () => ({}),
  'POST /api/workspaces/{ws}/hooks/{flow}/deliveries/{id}/redeliver': () => ({}),
  'POST /api/approve/{tenant}/{ws}/{id}': async (stage) => {
    const runId = await parked(stage, 'approval');
    const [park] = await stage.app.deps.db.query<{ id: string }>('SELECT id FROM park WHERE run_id = $1', [runId]);
    const { tenant, owner } = stage.app;
    const link = { tenant, workspace: stage.workspace, runId, park: park?.id ?? '', to: owner.email };
    return { path: linkPath(stage.app.deps, link), json: { decision: 'reject' }, by: 'nobody' };
  },
  'POST /api/schedule': async (stage) => {
    const content = '---\ntrigger: schedule\ncron: "0 9 * * *"\n---\n\n## Say it @writer\n\nSay hello.\n';
    await made(stage, 'put', ofSource(stage), { path: 'flows/daily.md', content });
    return { json: { workspace: stage.workspace, flow: 'daily', action: 'pause' } };
  },
  'PATCH /api/account': () => ({ json: { budget: 12 } }),
  'POST /api/notifications/test': async (stage) => {
    const account = { notify: { email: stage.app.owner.email } };
    const set = await stage.app.patch('/api/account', account);
    if (!set.ok) throw new Error(`notify: ${set.status} ${await set.text()}`);
    return { json: {} };
  },
  'POST /api/notifications/secret': () => ({}),
  'PUT /api/secrets': () => ({ json: { name: `S_${newId().toUpperCase()}`, value: 'a long value' } }),
  'DELETE /api/secrets': async (stage) => {
    const name = `S_${newId().toUpperCase()}`;
    await made(stage, 'put', '/api/secrets', { name, value: 'a long value' });
    return { query: `?name=${name}` };
  },
  'POST /api/oauth/clients': () => ({
    json: { name: `c-${newId().slice(-8)}`, client: 'abc', config: { ...urls, client_secret: 'some-secret' } },
  }),
  'DELETE /api/oauth/clients': async (stage) => ({ query: `?name=${await oauthClient(stage)}` }),
  'POST /api/oauth/start': async (stage) => ({
    json: { client: await oauthClient(stage), secret: 'CONNECTED' },
    by: 'session',
  }),
  'POST /api/auth/signup': () => ({
    json: { email: `${newId()}@x.test`, password: PASSWORD, account: `a ${newId()}` },
    by: 'nobody',
  }),
  'POST /api/auth/login': async (stage) => ({
    json: { email: (await createPerson(stage.app)).email, password: PASSWORD },
    by: 'nobody',
  }),
  'POST /sign-in': async (stage) => ({
    form: { email: (await createPerson(stage.app)).email, password: PASSWORD },
    by: 'nobody',
  }),
  'POST /join': async (stage) => ({ form: { token: await invited(stage), password: PASSWORD }, by: 'nobody' }),
  'POST /api/auth/logout': () => ({ by: 'session' }),
  'DELETE /api/auth/sessions': async (stage) => {
    await signedInCookie(stage.app.deps, stage.app.tenant, stage.people.owner);
    return { query: '?others=true', by: 'session' };
  },
  'POST /api/auth/password': () => ({ json: { current: PASSWORD, next: 'another good password' }, by: 'session' }),
  'POST /api/auth/timezone': () => ({ json: { timezone: 'UTC' }, by: 'session' }),
  'POST /api/cli/authorize': async (stage) => {
    const { code } = JSON.parse(await made(stage, 'post', '/api/cli/login', { hostname: 'box' })) as { code: string };
    return { json: { code, decision: 'deny' }, by: 'session' };
  },
  'POST /api/team': () => ({ json: { email: `${newId()}@x.test`, send: false }, by: 'session' }),
  'DELETE /api/team/invites/{id}': () => ({ by: 'session' }),
  'PATCH /api/team/members/{id}': () => ({ json: { role: 'editor' }, by: 'session' }),
  'DELETE /api/team/members/{id}': () => ({ by: 'session' }),
  'POST /api/team/transfer': (stage) => ({ json: { to: stage.people.admin.id }, by: 'session' }),
  'POST /api/keys': () => ({ json: { label: 'x' } }),
  'DELETE /api/keys': async (stage) => {
    const { id } = JSON.parse(await made(stage, 'post', '/api/keys', { label: 'x' })) as { id: string };
    return { query: `?id=${id}` };
  },
  'PUT /api/avatars/{kind}/{id}': async () => ({ bytes: new Uint8Array(await PICTURE.clone().toBuffer()) }),
  'DELETE /api/avatars/{kind}/{id}': async (stage) => {
    const { tenant } = stage.app;
    const init = { method: 'PUT', body: new Uint8Array(await PICTURE.clone().toBuffer()) };
    await stage.app.request(`/api/avatars/account/${tenant}`, init);
    return {};
  },
};

/** Routes that write and leave no entry, and why. */
export const UNTOLD: Readonly<Record<string, string>> = {
  'POST /api/cli/login': 'nobody has said yet whose account it is about; the decision and the key are told',
  'POST /api/git/{tenant}/{ws}': 'a code host says that there is something new; the deploy that comes of it is told',
  'POST /git/{tenant}/{repo}/git-upload-pack': 'a fetch changes nothing',
  'POST /git/{tenant}/{repo}/git-receive-pack':
    'its body is made by git: test/git/remote.test.ts reads what a push tells',
};
